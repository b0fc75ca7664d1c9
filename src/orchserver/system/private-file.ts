import { randomBytes } from 'node:crypto'
import { link, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { NodeProxyError } from '../../lib/error.ts'
import { makeFolder } from '../../lib/make-folder.ts'

/**
 * Writes a file that only this user may read. It has its old content or the new
 * one at any moment, also after a power failure; its folder is made if needed,
 * for this user only.
 * @throws NP_ORCHSERVER_FILE
 */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  await place(path, text, (partial) => rename(partial, path))
}

/**
 * As `writePrivateFile`, where nothing stands yet. @returns false: something stands there, and stays
 * @throws NP_ORCHSERVER_FILE
 */
export async function createPrivateFile(path: string, text: string): Promise<boolean> {
  let isNew = true
  await place(path, text, async (partial) => {
    await link(partial, path).catch((cause: NodeJS.ErrnoException) => {
      if (cause.code !== 'EEXIST') throw cause
      isNew = false
    })
    await rm(partial)
  })
  return isNew
}

/** Writes a partial file beside `path`, and has it moved there. */
async function place(
  path: string,
  text: string,
  move: (partial: string) => Promise<void>,
): Promise<void> {
  const partial = `${path}.${randomBytes(6).toString('hex')}.partial`
  try {
    makeFolder(dirname(path))
    await writeFlushed(partial, text)
    await move(partial)
    await flushFolder(dirname(path))
  } catch (cause) {
    await rm(partial, { force: true }).catch(() => undefined)
    throw cannotWrite(path, cause)
  }
}

async function writeFlushed(path: string, text: string): Promise<void> {
  await using file = await open(path, 'wx', 0o600)
  await file.writeFile(text)
  await file.sync()
}

async function flushFolder(path: string): Promise<void> {
  await using folder = await open(path, 'r')
  await folder.sync()
}

function cannotWrite(path: string, cause: unknown): NodeProxyError {
  const code = (cause as NodeJS.ErrnoException).code ?? String(cause)
  return new NodeProxyError('NP_ORCHSERVER_FILE', `cannot write ${path}: ${code}`, {
    object: path,
    hint: 'check that this user may write there and that the disk has space',
    cause,
  })
}
