import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'

const PREFIX = 'nplab'
const NAME = /^nplab-(\d+)-/

/** A prefix for the namespaces of one lab: carries the process id of its owner. */
export function labPrefix(): string {
  return `${PREFIX}-${process.pid}-${randomBytes(3).toString('hex')}`
}

/** Removes namespaces whose owner is dead, and ends what still runs in them. */
export function removeLeftovers(): void {
  for (const name of listNamespaces()) {
    const owner = NAME.exec(name)?.[1]
    if (owner !== undefined && !isAlive(Number(owner))) removeNow(name)
  }
}

/** Removes all namespaces of one lab at once; synchronous, for exit handlers. */
export function removeLab(prefix: string): void {
  for (const name of listNamespaces()) if (name.startsWith(`${prefix}-`)) removeNow(name)
}

function removeNow(name: string): void {
  for (const pid of pidsIn(name)) endNow(pid)
  spawnSync('ip', ['netns', 'del', name])
}

/** Processes whose network namespace this is. */
export function pidsIn(name: string): number[] {
  const said = spawnSync('ip', ['netns', 'pids', name], { encoding: 'utf8' })
  return said.stdout
    .split('\n')
    .filter((line) => line !== '')
    .map(Number)
}

function listNamespaces(): string[] {
  const said = spawnSync('ip', ['netns', 'list'], { encoding: 'utf8' })
  return said.stdout.split('\n').flatMap((line) => line.split(' ')[0] || [])
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

function endNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    return
  }
}
