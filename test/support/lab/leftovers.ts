import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readdirSync, readlinkSync, statSync } from 'node:fs'

const PREFIX = 'nplab'
const NAME = /^nplab-(\d+)-/
const FOLDER = '/run/netns'

/** A prefix for the namespaces of one lab, which contains the process id of its owner. */
export function labPrefix(): string {
  return `${PREFIX}-${process.pid}-${randomBytes(3).toString('hex')}`
}

/** Removes namespaces whose owner has ended, and ends the processes in them. */
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

/** The processes of a network namespace, as `ip netns pids` prints them, but without starting a program. */
export function pidsIn(name: string): number[] {
  const namespace = `net:[${inodeOf(`${FOLDER}/${name}`)}]`
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && namespaceOf(pid) === namespace)
    .map(Number)
}

function inodeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.ino ?? 0
}

function namespaceOf(pid: string): string {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`)
  } catch {
    return ''
  }
}

function listNamespaces(): string[] {
  try {
    return readdirSync(FOLDER)
  } catch {
    return []
  }
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
