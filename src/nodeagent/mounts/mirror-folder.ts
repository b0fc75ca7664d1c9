import { readdir, readlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { unmountable } from './mount-layout.ts'
import type { MountNamespace } from './mount-namespace.ts'

/** A place that a folder of the machine does not have. */
export interface MissingPlace {
  /** Relative to the folder. */
  readonly path: string
  readonly isFile: boolean
}

/**
 * Gives a folder of the machine more places, in one mount namespace alone: a folder in memory with everything that is
 * in it, each by its own mount, takes its place there. New files of the machine in the folder itself do not appear
 * in it, those below do. `scratch`: a folder of this agent, with no link in its path.
 */
export async function mirrorFolder(
  namespace: MountNamespace,
  folder: string,
  places: readonly MissingPlace[],
  scratch: Scratch,
): Promise<void> {
  const { staging, table } = scratch
  const entries = await readdir(folder, { withFileTypes: true })
  const own = new Set(entries.map(({ name }) => name))
  const taken = places.find(({ path }) => own.has(path.split('/')[0] ?? path))
  if (taken !== undefined) throw unmountable(join(folder, taken.path), 'it was made meanwhile')
  const links = entries.filter((entry) => entry.isSymbolicLink())
  const others = entries.filter((entry) => !entry.isSymbolicLink())
  const at = (name: string): string => join(staging, name)
  const named = (isFolder: boolean) =>
    others.filter((entry) => entry.isDirectory() === isFolder).map(({ name }) => at(name))
  const run = async (command: readonly string[], paths: readonly string[]): Promise<void> => {
    if (paths.length > 0) await namespace.run([...command, '--', ...paths])
  }
  await namespace.run([...MOUNT_MEMORY, '--', 'tmpfs', staging])
  await run(['mkdir'], named(true))
  await run(['touch'], named(false))
  for (const { name } of links) {
    await run(['ln', '-s'], [await readlink(join(folder, name)), at(name)])
  }
  const rows = others.map(({ name }) => mountRow(join(folder, name), at(name)))
  await writeFile(table, rows.join(''), { mode: 0o600 })
  await namespace.run(['mount', '--all', '--fstab', table])
  const files = places.filter(({ isFile }) => isFile).map(({ path }) => at(path))
  const folders = places.filter(({ isFile }) => !isFile).map(({ path }) => at(path))
  await run(['mkdir', '-p'], [...folders, ...files.map((path) => dirname(path))])
  await run(['touch'], files)
  await namespace.run(['mount', '--move', '--', staging, folder])
}

/** Where a mirror is prepared: an empty folder, and a file for the list of its mounts. */
export interface Scratch {
  readonly staging: string
  readonly table: string
}

const MOUNT_MEMORY = [
  'mount',
  ...['-t', 'tmpfs', '-o', 'mode=0755,nosuid,nodev', '--make-unbindable'],
]

/** A row of a table as `fstab` has it. */
function mountRow(from: string, to: string): string {
  return `${escaped(from)} ${escaped(to)} none rbind 0 0\n`
}

function escaped(path: string): string {
  return path.replace(/[\s\\#"]/gu, (character) => {
    return Buffer.from(character)
      .toString('latin1')
      .replace(/./gsu, (byte) => `\\${byte.charCodeAt(0).toString(8).padStart(3, '0')}`)
  })
}
