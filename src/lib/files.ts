import { randomBytes } from 'node:crypto'
import { mkdirSync, statSync } from 'node:fs'
import { open, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Makes a folder, and those above it that are missing, for this user only. Node's
 * own `recursive` tries for ever where a folder exists that takes no others, as
 * /proc does.
 */
export function makeFolder(path: string): void {
  try {
    makeOne(path)
  } catch (error) {
    const above = dirname(path)
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || above === path) throw error
    makeFolder(above)
    makeOne(path)
  }
}

function makeOne(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error
  }
}

/** Who may use a file: permission bits, and its owner where that is not the user of this process. */
export interface FileAccess {
  readonly mode: number
  readonly owner?: { readonly uid: number; readonly gid: number }
}

/**
 * Writes a file that has its old content or the new one at any moment, also after a power failure. It is written beside
 * `path` and flushed; then `move` (default: rename) puts it there. The folder must exist.
 * @throws the system's error; nothing has changed then
 */
export async function placeFile(
  path: string,
  text: string,
  access: FileAccess,
  move: (partial: string) => Promise<void> = (partial) => rename(partial, path),
): Promise<void> {
  const partial = `${path}.${randomBytes(6).toString('hex')}.partial`
  try {
    await writeFlushed(partial, text, access)
    await move(partial)
    await flushFolder(dirname(path))
  } catch (cause) {
    await rm(partial, { force: true }).catch(() => undefined)
    throw cause
  }
}

/**
 * Replaces the content of a file, as `placeFile` does; its permission bits and its owner stay. A symbolic link stays,
 * and the file it leads to is replaced.
 * @throws the system's error; nothing has changed then
 */
export async function replaceFile(path: string, text: string): Promise<void> {
  const target = await realpath(path)
  const { mode, uid, gid } = await stat(target)
  await placeFile(target, text, { mode: mode & 0o7777, owner: { uid, gid } })
}

async function writeFlushed(
  path: string,
  text: string,
  { mode, owner }: FileAccess,
): Promise<void> {
  await using file = await open(path, 'wx', mode & 0o600)
  if (owner !== undefined) await file.chown(owner.uid, owner.gid)
  await file.chmod(mode)
  await file.writeFile(text)
  await file.sync()
}

async function flushFolder(path: string): Promise<void> {
  await using folder = await open(path, 'r')
  await folder.sync()
}
