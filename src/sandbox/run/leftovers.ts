import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ownerOf } from './run.ts'

/** What was left of one run, and has been removed. */
export interface Removed {
  readonly run: string
  readonly namespaces: readonly string[]
  /** How many processes were still running in them. */
  readonly processes: number
}

/** Removes what is left of the runs whose owner has ended. */
export function removeDeadRuns(): readonly Removed[] {
  const found = [...listNamespaces(), ...readdirSync(tmpdir())].map(ownerOf)
  const dead = found.filter((owner) => owner !== undefined && !isSandbox(owner.pid))
  return [...new Set(dead.map((owner) => owner?.run ?? ''))].map(removeRun)
}

/**
 * Removes everything of one run at once: its processes, namespaces (and with them all links, addresses, routes and rules)
 * and scratch folder. Synchronous, so that it also works while this process is ending.
 */
export function removeRun(run: string): Removed {
  const namespaces = listNamespaces().filter((name) => ownerOf(name)?.run === run)
  const processes = namespaces.flatMap(processesIn).filter((pid) => pid !== process.pid)
  for (const pid of processes) kill(pid)
  for (const name of namespaces) spawnSync('ip', ['netns', 'del', name])
  for (const entry of readdirSync(tmpdir())) {
    if (ownerOf(entry)?.run === run) removeFolder(join(tmpdir(), entry))
  }
  return { run, namespaces, processes: processes.length }
}

/** Removes a scratch folder. A node agent that was killed may have left volumes in memory mounted there. */
function removeFolder(folder: string): void {
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n')
  const places = mounts.map((line) => line.split(' ')[1] ?? '')
  for (const place of places.filter((each) => each.startsWith(`${folder}/`)))
    spawnSync('umount', ['--lazy', '--', place])
  rmSync(folder, { recursive: true, force: true })
}

/** The namespaces of one run that exist. */
export function namespacesOf(run: string): readonly string[] {
  return listNamespaces().filter((name) => ownerOf(name)?.run === run)
}

function listNamespaces(): readonly string[] {
  return linesOf(['netns', 'list']).map((line) => line.split(' ')[0] ?? '')
}

function processesIn(namespace: string): readonly number[] {
  return linesOf(['netns', 'pids', namespace]).map(Number)
}

function linesOf(args: readonly string[]): readonly string[] {
  const { stdout } = spawnSync('ip', args, { encoding: 'utf8' })
  return (stdout ?? '').split('\n').filter((line) => line !== '')
}

/** Whether the process is a running sandbox, and not another program that has the same process id by now. */
function isSandbox(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('src/sandbox/main.ts')
  } catch {
    return false
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    return
  }
}
