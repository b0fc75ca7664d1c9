import { type FileHandle, open, rename, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Clock } from '../../../lib/clock.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import { makeFolder } from '../../../lib/files.ts'
import { backupPath, type Retention, removeOldBackups } from './backups.ts'
import type { Delivery } from './buffered-sink.ts'

export interface RotatedFileOptions extends Retention {
  readonly path: string
  /** A line that would make the file larger goes into the next file. */
  readonly maxBytes: number
  readonly clock: Pick<Clock, 'now'>
  /** Opens files; that of node:fs unless given. */
  readonly open?: typeof open
  /** Gets why a full file could not be put aside, or an old one removed; writing goes on. */
  readonly onRotationFailure: (error: unknown) => void
}

interface Part {
  readonly lines: number
  readonly bytes: Buffer
}

const NEWLINE = 0x0a

/**
 * A file of lines, readable by this user alone, that is put aside under a name with the time when it
 * is full. Lines of earlier runs stay; after one that was cut off, the next begins on its own line.
 * Calls must not overlap.
 */
export class RotatedFile {
  readonly #options: RotatedFileOptions
  #handle: FileHandle | undefined
  #size = 0
  #isRegular = true
  /** Whether the file ends in the middle of a line. */
  #isTorn = false

  constructor(options: RotatedFileOptions) {
    this.#options = options
  }

  /**
   * Opens the file once, so that a path that cannot be written is noticed at the start.
   * @throws NP_APISERVER_AUDIT_FILE
   */
  async open(): Promise<void> {
    const { path } = this.#options
    try {
      makeFolder(dirname(path))
      await this.#reopen()
    } catch (cause) {
      const code = (cause as NodeJS.ErrnoException).code ?? String(cause)
      throw new NodeProxyError('NP_APISERVER_AUDIT_FILE', `cannot write ${path}: ${code}`, {
        object: path,
        hint: 'check --audit-log-path, and that this user may write there',
        cause,
      })
    }
    await this.#removeOld()
  }

  /** Appends lines. A line that could only be written in part is removed again. */
  async append(lines: readonly string[]): Promise<Delivery> {
    let written = 0
    let limit = this.#options.maxBytes
    try {
      await this.#follow()
      while (written < lines.length) {
        const part = this.#fitting(lines.slice(written), limit)
        if (part.lines > 0) await this.#write(part.bytes)
        written += part.lines
        // Better a file that is too large than no events.
        if (written < lines.length && !(await this.#rotate())) limit = Number.POSITIVE_INFINITY
      }
      return { lines: written }
    } catch (error) {
      return { lines: written, failure: { error, canRetry: true } }
    }
  }

  async close(): Promise<void> {
    await this.#handle?.close().catch(() => undefined)
    this.#handle = undefined
  }

  /** The first lines that the file still takes; at least one when it is empty. */
  #fitting(lines: readonly string[], limit: number): Part {
    const taken: Buffer[] = []
    let size = this.#size
    for (const line of lines) {
      const bytes = Buffer.from(`${line}\n`)
      if (this.#isRegular && size > 0 && size + bytes.length > limit) break
      taken.push(bytes)
      size += bytes.length
    }
    return { lines: taken.length, bytes: Buffer.concat(taken) }
  }

  async #write(bytes: Buffer): Promise<void> {
    const handle = this.#handle!
    const all = this.#isTorn ? Buffer.concat([Buffer.of(NEWLINE), bytes]) : bytes
    try {
      for (let done = 0; done < all.length; ) {
        const { bytesWritten } = await handle.write(all, done)
        done += bytesWritten
      }
      this.#size += all.length
      this.#isTorn = false
    } catch (error) {
      await this.#undo(handle)
      throw error
    }
  }

  /** After a write that failed half-way: as before it, or marked as torn. */
  async #undo(handle: FileHandle): Promise<void> {
    try {
      if (this.#isRegular) await handle.truncate(this.#size)
    } catch {
      this.#isTorn = true
      this.#size = (await handle.stat().catch(() => undefined))?.size ?? this.#size
    }
  }

  /** Opens the file again when it was moved or deleted by another program. */
  async #follow(): Promise<void> {
    if (this.#handle === undefined) return this.#reopen()
    if (!this.#isRegular) return
    const [there, ours] = await Promise.all([
      stat(this.#options.path).catch(() => undefined),
      this.#handle.stat(),
    ])
    if (there?.ino === ours.ino && there.dev === ours.dev) this.#size = ours.size
    else await this.#reopen()
  }

  async #reopen(): Promise<void> {
    await this.close()
    const { path, open: openFile = open } = this.#options
    const handle = await openFile(path, 'a+', 0o600)
    const about = await handle.stat()
    this.#handle = handle
    this.#isRegular = about.isFile()
    this.#size = this.#isRegular ? about.size : 0
    this.#isTorn = this.#size > 0 && (await lastByte(handle, this.#size)) !== NEWLINE
  }

  /** Whether there is a new file. */
  async #rotate(): Promise<boolean> {
    const { path, clock, onRotationFailure } = this.#options
    try {
      await rename(path, await backupPath(path, clock.now()))
    } catch (error) {
      onRotationFailure(error)
      return false
    }
    await this.#reopen()
    await this.#removeOld()
    return true
  }

  async #removeOld(): Promise<void> {
    const { path, clock, onRotationFailure } = this.#options
    await removeOldBackups(path, this.#options, clock.now()).catch(onRotationFailure)
  }
}

async function lastByte(handle: FileHandle, size: number): Promise<number | undefined> {
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1)
  return buffer[0]
}
