import { type FileHandle, open, readdir, rename, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Clock } from '../../../lib/clock.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import { makeFolder } from '../../../lib/files.ts'
import type { Delivery } from './buffered-sink.ts'

const DAY_MS = 86_400_000
const STAMP = /^(\d{4}-\d{2}-\d{2})T(\d{2})-(\d{2})-(\d{2}\.\d{3})$/

export interface RotatedFileOptions extends Retention {
  readonly path: string
  /** The size limit; a line that would exceed it goes into the next file. */
  readonly maxBytes: number
  readonly clock: Pick<Clock, 'now'>
  /** Opens files; that of node:fs unless given. */
  readonly open?: typeof open
  /** Receives the error when a full file could not be renamed, or an old one not removed; writing continues. */
  readonly onRotationFailure: (error: unknown) => void
}

interface Part {
  readonly lines: number
  readonly bytes: Buffer
}

const NEWLINE = 0x0a

/**
 * A file of lines, readable by this user only, that is renamed with the time when it is full. Lines of earlier
 * runs are kept; after a line that was cut off, the next one begins on a new line. Calls must not overlap.
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
        // A file that is too large is better than lost events.
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

  /** The first lines that still fit into the file; at least one when the file is empty. */
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

  /** Undoes a write that failed half-way; if that fails, too, marks the file as torn. */
  async #undo(handle: FileHandle): Promise<void> {
    try {
      if (this.#isRegular) await handle.truncate(this.#size)
    } catch {
      this.#isTorn = true
      this.#size = (await handle.stat().catch(() => undefined))?.size ?? this.#size
    }
  }

  /** Reopens the file if another program moved or deleted it. */
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

  /** Renames the file and opens a new one; returns whether that succeeded. */
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

/** The rotated files that are kept. */
interface Retention {
  /** The newest ones; 0: all. */
  readonly maxBackups: number
  /** Days since their rotation; 0: for ever. */
  readonly maxAgeDays: number
}

/**
 * The name of a rotated file, as kube-apiserver names it: `audit.log` becomes
 * `audit-2026-01-31T10-20-30.456.log` (UTC).
 */
async function backupPath(path: string, now: number): Promise<string> {
  const { prefix, suffix } = partsOf(path)
  for (let time = now; ; time++) {
    const stamp = new Date(time).toISOString().slice(0, -1).replaceAll(':', '-')
    const candidate = join(dirname(path), `${prefix}${stamp}${suffix}`)
    if (!(await exists(candidate))) return candidate
  }
}

/** Removes rotated files that are too many or too old, and no others. */
async function removeOldBackups(path: string, keep: Retention, now: number): Promise<void> {
  const { prefix, suffix } = partsOf(path)
  const backups = (await readdir(dirname(path)))
    .map((name) => ({ name, time: timeOf(name, prefix, suffix) }))
    .filter((backup): backup is Backup => backup.time !== undefined)
    .toSorted((a, b) => b.time - a.time)
  const oldest = keep.maxAgeDays === 0 ? Number.NEGATIVE_INFINITY : now - keep.maxAgeDays * DAY_MS
  const most = keep.maxBackups === 0 ? backups.length : keep.maxBackups
  const old = backups.filter(({ time }, rank) => rank >= most || time < oldest)
  await Promise.all(old.map(({ name }) => unlink(join(dirname(path), name))))
}

interface Backup {
  readonly name: string
  readonly time: number
}

function partsOf(path: string): { readonly prefix: string; readonly suffix: string } {
  const name = basename(path)
  const dot = name.lastIndexOf('.')
  const end = dot < 0 ? name.length : dot
  return { prefix: `${name.slice(0, end)}-`, suffix: name.slice(end) }
}

/** When a file was rotated; undefined: it is not a rotated file. */
function timeOf(name: string, prefix: string, suffix: string): number | undefined {
  if (!name.startsWith(prefix) || !name.endsWith(suffix)) return undefined
  const stamp = STAMP.exec(name.slice(prefix.length, name.length - suffix.length))
  if (stamp === null) return undefined
  const [, date, hour, minute, second] = stamp
  const time = Date.parse(`${date}T${hour}:${minute}:${second}Z`)
  return Number.isNaN(time) ? undefined : time
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
