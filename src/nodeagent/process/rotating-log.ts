import { type FileHandle, open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Writable } from 'node:stream'
import { makeFolder } from '../../lib/files.ts'

const LARGEST_BYTES = 10 * 1024 * 1024

/** Where a container's output goes. */
export interface RotatingLog {
  readonly stream: Writable
  /** Writes what is left and closes the file. */
  close(): Promise<void>
}

/**
 * Appends to a file; one that is full is kept as `<path>.1` in place of the one
 * before. A process that writes faster than the disk has to wait. A disk that refuses
 * costs the text and never the container.
 */
export async function openRotatingLog(
  path: string,
  largestBytes = LARGEST_BYTES,
): Promise<RotatingLog> {
  makeFolder(dirname(path))
  let file: FileHandle | undefined
  let size = 0
  const write = async (chunk: Buffer): Promise<void> => {
    if (file !== undefined && size > 0 && size + chunk.length > largestBytes) {
      await file.close()
      file = undefined
      await rename(path, `${path}.1`)
    }
    file ??= await open(path, 'a', 0o600)
    size = (await file.stat()).size + chunk.length
    await file.write(chunk)
  }
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      void write(chunk).then(
        () => done(),
        () => done(),
      )
    },
  })
  stream.on('error', () => undefined)
  const close = async (): Promise<void> => {
    await new Promise<void>((resolve) => stream.end(resolve))
    await file?.close()
  }
  return { stream, close }
}
