import { existsSync, mkdtempSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** On a disk: an engine's data may be larger than a /tmp in memory. */
const PARENT = process.env['TMPDIR'] ?? '/var/tmp'
const CGROUPS = '/sys/fs/cgroup'
const NAME = /^np-docker-(\d+)-\w+$/

/** The folder with everything that an engine of process `process.pid` writes. */
export function makeScratch(): string {
  return mkdtempSync(join(PARENT, `np-docker-${process.pid}-`))
}

/** The control group that holds its containers. */
export function cgroupOf(scratch: string): string {
  return scratch.slice(scratch.lastIndexOf('/') + 1)
}

/** Removes the folder, and the control groups, which outlive the processes that were in them. */
export function removeScratch(scratch: string): void {
  const name = cgroupOf(scratch)
  const hierarchies = readdirSync(CGROUPS, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(CGROUPS, entry.name))
  for (const parent of [CGROUPS, ...hierarchies]) removeCgroup(join(parent, name))
  rmSync(scratch, { recursive: true, force: true })
}

/** Removes what runs left whose process is gone; returns their folders. */
export function removeLeftovers(): readonly string[] {
  const dead = readdirSync(PARENT)
    .filter((name) => NAME.test(name) && !isAlive(NAME.exec(name)?.[1] ?? ''))
    .map((name) => join(PARENT, name))
  for (const scratch of dead) removeScratch(scratch)
  return dead
}

/** Leaves first: a group with groups in it cannot go. */
function removeCgroup(folder: string): void {
  if (!existsSync(folder)) return
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) removeCgroup(join(folder, entry.name))
  }
  rmdirSync(folder)
}

/** A process id alone may belong to another program by now. */
function isAlive(pid: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('test/docker/main.ts')
  } catch {
    return false
  }
}
