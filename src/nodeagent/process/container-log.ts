import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Writable } from 'node:stream'
import type { Clock } from '../../lib/clock.ts'
import { makeFolder } from '../../lib/files.ts'

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

const CHUNK_BYTES = 64 << 10
/** Longer than any line that is written; a file with a longer line is not a log. */
const MAX_LINE_BYTES = 64 << 10

/** Reads the entries of one log file, in order, up to its current end. */
export class LogCursor {
  readonly #file: FileHandle
  readonly #inode: number
  #position = 0
  #rest: Buffer = Buffer.alloc(0)

  private constructor(file: FileHandle, inode: number) {
    this.#file = file
    this.#inode = inode
  }

  /** Undefined: the file does not exist. */
  static async open(path: string): Promise<LogCursor | undefined> {
    const file = await open(path).catch(() => undefined)
    return file && new LogCursor(file, (await file.stat()).ino)
  }

  /** The next entries; empty: there are no more yet. */
  async read(): Promise<readonly LogEntry[]> {
    for (;;) {
      const buffer = Buffer.allocUnsafe(CHUNK_BYTES)
      const { bytesRead } = await this.#file.read(buffer, 0, CHUNK_BYTES, this.#position)
      if (bytesRead === 0) return []
      this.#position += bytesRead
      const entries = this.#entries(buffer.subarray(0, bytesRead))
      if (entries.length > 0) return entries
    }
  }

  /** Begins again at the first entry. */
  rewind(): void {
    this.#position = 0
    this.#rest = Buffer.alloc(0)
  }

  /** Whether the path now leads to another file. */
  async isRotated(path: string): Promise<boolean> {
    const found = await stat(path).catch(() => undefined)
    return found !== undefined && found.ino !== this.#inode
  }

  async close(): Promise<void> {
    await this.#file.close()
  }

  #entries(chunk: Buffer): readonly LogEntry[] {
    const bytes = Buffer.concat([this.#rest, chunk])
    const entries: LogEntry[] = []
    let from = 0
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, from)) {
      const entry = readEntry(bytes.subarray(from, end))
      if (entry !== undefined) entries.push(entry)
      from = end + 1
    }
    this.#rest = bytes.subarray(from).subarray(0, MAX_LINE_BYTES)
    return entries
  }
}

/**
 * One line of a log file, as container runtimes write it (CRI): a time, the stream, whether the line
 * of the container ends here, and its text.
 */
export interface LogEntry {
  /** RFC 3339 in UTC with milliseconds, so that texts sort like the times. */
  readonly time: string
  /** Whether the line is complete; if not, the next entry of the stream continues it. */
  readonly isWhole: boolean
  readonly text: Buffer
}

const SPACE = 0x20
const WHOLE = 'F'
const PART = 'P'

/** `now`: milliseconds since the epoch. */
export function logTime(now: number): string {
  return new Date(now).toISOString()
}

/** The line of a file, with its end. */
function writeEntry({ time, isWhole, text }: LogEntry, stream: 'stdout' | 'stderr'): Buffer {
  const head = Buffer.from(`${time} ${stream} ${isWhole ? WHOLE : PART} `)
  return Buffer.concat([head, text, Buffer.from('\n')])
}

/** Reads a line without its end; undefined: it is malformed, or was cut off by a crash. */
export function readEntry(line: Buffer): LogEntry | undefined {
  const first = line.indexOf(SPACE)
  const second = line.indexOf(SPACE, first + 1)
  const third = line.indexOf(SPACE, second + 1)
  if (first < 0 || second < 0 || third < 0) return undefined
  const kind = line.toString('latin1', second + 1, third)
  if (kind !== WHOLE && kind !== PART) return undefined
  const time = line.toString('latin1', 0, first)
  return { time, isWhole: kind === WHOLE, text: line.subarray(third + 1) }
}
