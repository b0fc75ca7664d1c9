import { randomBytes } from 'node:crypto'
import { mkdirSync, statSync } from 'node:fs'
import { open, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Creates a folder, and missing folders above it, accessible for this user only. Node's own `recursive` option never
 * returns if a folder exists in which none can be created, such as /proc.
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

/** Access to a file: permission bits, and the owner if that is not the user of this process. */
export interface FileAccess {
  readonly mode: number
  readonly owner?: { readonly uid: number; readonly gid: number }
}

/**
 * Writes a file so that at any moment, also after a power failure, it has either its old or its new content. The
 * content is written to a file next to `path` and flushed; then `move` (default: rename) replaces `path`. The folder
 * must exist.
 * @throws the system's error; nothing has changed then, unless the folder could not be flushed
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
 * Replaces the content of a file, as `placeFile` does; permission bits and owner are kept. A symbolic link is kept,
 * and the file it points to is replaced.
 * @throws the same errors
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
