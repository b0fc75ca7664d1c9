import { spawnSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { checked, libc } from './libc.ts'

const NAME = /^npbench-(\d+)-/
const CLONE_NEWNET = 0x4000_0000

/** The name of a namespace of this benchmark, which contains the process id of its owner. */
export function namespaceName(role: string): string {
  return `npbench-${process.pid}-${role}`
}

export function addNamespace(name: string): void {
  run(['ip', 'netns', 'add', name])
  ipBatch(name, ['link set lo up'])
}

/** Ends the processes in a namespace, then removes it. */
export function removeNamespace(name: string): void {
  for (const pid of pidsIn(name)) {
    if (pid === process.pid) continue
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // ended by itself
    }
  }
  spawnSync('ip', ['netns', 'del', name])
}

/** Removes the namespaces of killed benchmarks, or, with `pid`, those of one that is ending. */
export function removeNamespaces(pid?: number): void {
  const listed = spawnSync('ip', ['netns', 'list'], { encoding: 'utf8' }).stdout
  for (const line of listed.split('\n')) {
    const name = line.split(' ')[0] ?? ''
    const owner = Number(NAME.exec(name)?.[1])
    if (owner > 0 && (owner === pid || !isAlive(owner))) removeNamespace(name)
  }
}

/** Runs lines of `ip` inside a namespace; throws at the first one that fails. */
export function ipBatch(name: string, lines: readonly string[]): void {
  run(['ip', '-n', name, '-batch', '-'], `${lines.join('\n')}\n`)
}

/** Writes sysctls of a namespace: `net/ipv4/ip_forward` → value. */
export function writeSysctls(name: string, values: Readonly<Record<string, string | number>>) {
  const script = 'while read -r file value; do echo "$value" >"/proc/sys/$file" || exit 1; done'
  const lines = Object.entries(values).map(([file, value]) => `${file} ${value}\n`)
  run(['ip', 'netns', 'exec', name, 'sh', '-c', script], lines.join(''))
}

/**
 * Runs `act` with this thread inside another namespace. Sockets opened there stay there. `act` must be synchronous;
 * otherwise, other code of this process would run in the namespace, too.
 */
export function inside<T>(name: string, act: () => T): T {
  const home = openSync('/proc/thread-self/ns/net', 'r')
  enter(name)
  try {
    return act()
  } finally {
    checked(libc.setns(home, CLONE_NEWNET), 'setns back')
    closeSync(home)
  }
}

/** Moves this thread permanently: its new sockets and child processes belong to the namespace from now on. */
export function enter(name: string): void {
  const there = openSync(`/run/netns/${name}`, 'r')
  try {
    checked(libc.setns(there, CLONE_NEWNET), `setns to ${name}`)
  } finally {
    closeSync(there)
  }
}

export function pidsIn(name: string): readonly number[] {
  const output = spawnSync('ip', ['netns', 'pids', name], { encoding: 'utf8' }).stdout
  return output.split('\n').filter(Boolean).map(Number)
}

function run(command: readonly string[], input = ''): void {
  const [program = '', ...args] = command
  const done = spawnSync(program, args, { input, encoding: 'utf8', timeout: 20_000 })
  if (done.status !== 0) throw new Error(`${command.join(' ')}: ${done.stderr.trim()}\n${input}`)
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
