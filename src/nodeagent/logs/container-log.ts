import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Writable } from 'node:stream'
import type { Clock } from '../../lib/clock.ts'
import { makeFolder } from '../../lib/files.ts'
import { logTime, writeEntry } from './log-entry.ts'

const LARGEST_BYTES = 10 * 1024 * 1024

/** The log of one run of a container. */
export interface ContainerLog {
  readonly stdout: Writable
  readonly stderr: Writable
  readonly progress: LogProgress
  /** Writes the rest, even of an incomplete line, and closes the file. */
  close(): Promise<void>
}

/** A longer line is stored in parts. */
const MAX_PART_BYTES = 16 << 10
const NEWLINE = 0x0a

/** The files of a run: the rotated one, if there is one, then the current one. */
export function logFiles(path: string): readonly string[] {
  return [`${path}.1`, path]
}

/** The path of the log of the previous run. */
export function previousLog(path: string): string {
  return `${path}.previous`
}

/** Begins the log of a run. The log of the previous run is kept, and the one before that is removed. */
export async function openContainerLog(
  path: string,
  clock: Pick<Clock, 'now'>,
): Promise<ContainerLog> {
  const previous = previousLog(path)
  for (const file of logFiles(previous)) await rm(file, { force: true })
  for (const [index, file] of logFiles(path).entries()) {
    await rename(file, logFiles(previous)[index]!).catch(() => undefined)
  }
  const file = await openRotatingLog(path)
  const progress = new LogProgress()
  const [stdout, stderr] = (['stdout', 'stderr'] as const).map((stream) =>
    lineWriter({ stream, file, progress, clock }),
  )
  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    for (const one of [stdout!, stderr!]) await new Promise<void>((resolve) => one.end(resolve))
    await file.close()
    progress.close()
  }
  return { stdout: stdout!, stderr: stderr!, progress, close: () => (closing ??= close()) }
}

interface LineWriterParts {
  readonly stream: 'stdout' | 'stderr'
  readonly file: RotatingLog
  readonly progress: LogProgress
  readonly clock: Pick<Clock, 'now'>
}

function lineWriter({ stream, file, progress, clock }: LineWriterParts): Writable {
  let rest: Buffer = Buffer.alloc(0)
  const write = (parts: readonly Buffer[], isWhole: boolean): Buffer[] => {
    const time = logTime(clock.now())
    return parts.map((text) => writeEntry({ time, isWhole, text }, stream))
  }
  const store = (entries: readonly Buffer[], done: () => void): void => {
    if (entries.length === 0) return done()
    file.stream.write(Buffer.concat(entries), () => {
      progress.changed()
      done()
    })
  }
  const output = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      const { lines, rest: left } = split(Buffer.concat([rest, chunk]))
      const entries = lines.flatMap((line) => {
        const parts = partsOf(line)
        return [...write(parts.slice(0, -1), false), ...write(parts.slice(-1), true)]
      })
      const parts = partsOf(left)
      rest = parts.at(-1)!
      store([...entries, ...write(parts.slice(0, -1), false)], done)
    },
    final: (done) => store(rest.length === 0 ? [] : write([rest], false), done),
  })
  output.on('error', () => undefined)
  return output
}

/** The complete lines without their line ends, and the rest of the bytes. */
function split(bytes: Buffer): { readonly lines: readonly Buffer[]; readonly rest: Buffer } {
  const lines: Buffer[] = []
  let from = 0
  for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, from)) {
    lines.push(bytes.subarray(from, end))
    from = end + 1
  }
  return { lines, rest: bytes.subarray(from) }
}

/** At least one part. */
function partsOf(line: Buffer): readonly Buffer[] {
  const count = Math.max(1, Math.ceil(line.length / MAX_PART_BYTES))
  return Array.from({ length: count }, (_, index) =>
    line.subarray(index * MAX_PART_BYTES, (index + 1) * MAX_PART_BYTES),
  )
}

/** Notifies the readers of a log when it grows and when it is complete. */
export class LogProgress {
  #next = Promise.withResolvers<void>()
  #isClosed = false

  /** Nothing more will be written. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Resolves at the next change. */
  next(): Promise<void> {
    return this.#next.promise
  }

  changed(): void {
    const { resolve } = this.#next
    this.#next = Promise.withResolvers<void>()
    resolve()
  }

  close(): void {
    this.#isClosed = true
    this.changed()
  }
}

/** A log file that is rotated when it is full. */
interface RotatingLog {
  readonly stream: Writable
  /** Writes the rest and closes the file. */
  close(): Promise<void>
}

/**
 * Appends to a file; a full file is renamed to `<path>.1` and replaces the one of that name. A process that
 * writes faster than the disk has to wait. If the disk fails, output is lost, but the container keeps running.
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
