import { existsSync, mkdtempSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** On a disk: the data of containers may be larger than a /tmp in memory. */
const PARENT = process.env['TMPDIR'] ?? '/var/tmp'
export const CGROUPS = '/sys/fs/cgroup'

/** A command that writes all its data into one folder, and puts its processes into one control group. */
export interface ScratchOwner {
  /** A word for its names: `docker`. */
  readonly who: string
  /** Its program, a path of the checkout. */
  readonly program: string
}

/** The folder with everything that a run of this process writes; its name holds the process id. */
export function makeScratch({ who }: ScratchOwner): string {
  return mkdtempSync(join(PARENT, `np-${who}-${process.pid}-`))
}

/** The control group that holds its containers. */
export function cgroupOf(scratch: string): string {
  return scratch.slice(scratch.lastIndexOf('/') + 1)
}

/** Removes the folder, and the control groups, which outlive the processes that were in them. */
export function removeScratch(scratch: string): void {
  removeCgroups(cgroupOf(scratch))
  rmSync(scratch, { recursive: true, force: true })
}

/** Removes a control group, and those in it, from every hierarchy. */
export function removeCgroups(name: string): void {
  const hierarchies = readdirSync(CGROUPS, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(CGROUPS, entry.name))
  for (const parent of [CGROUPS, ...hierarchies]) removeCgroup(join(parent, name))
}

/** Removes what runs left whose process is gone; returns their folders. */
export function removeLeftovers({ who, program }: ScratchOwner): readonly string[] {
  const name = new RegExp(`^np-${who}-(\\d+)-\\w+$`)
  const dead = readdirSync(PARENT)
    .filter((entry) => name.test(entry) && !isAlive(name.exec(entry)?.[1] ?? '', program))
    .map((entry) => join(PARENT, entry))
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
function isAlive(pid: string, program: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(program)
  } catch {
    return false
  }
}
