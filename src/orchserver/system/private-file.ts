import { link, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { NodeProxyError } from '../../lib/error.ts'
import { makeFolder, placeFile } from '../../lib/files.ts'

/**
 * Atomically writes a file that only this user may read: even after a power failure it has either the old or
 * the new content. Its folder is created if needed, for this user only.
 * @throws NP_ORCHSERVER_FILE
 */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  await place(path, text)
}

/**
 * As `writePrivateFile`, but never replaces a file. @returns false: the path exists, and is left unchanged
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

async function place(
  path: string,
  text: string,
  move?: (partial: string) => Promise<void>,
): Promise<void> {
  try {
    makeFolder(dirname(path))
    await placeFile(path, text, { mode: 0o600 }, move)
  } catch (cause) {
    throw cannotWrite(path, cause)
  }
}

function cannotWrite(path: string, cause: unknown): NodeProxyError {
  const code = (cause as NodeJS.ErrnoException).code ?? String(cause)
  return new NodeProxyError('NP_ORCHSERVER_FILE', `cannot write ${path}: ${code}`, {
    object: path,
    hint: 'check that this user may write there and that the disk has space',
    cause,
  })
}
