import { type FileHandle, open, stat } from 'node:fs/promises'
import { type LogEntry, readEntry } from './log-entry.ts'

const CHUNK_BYTES = 64 << 10
/** Longer than any line that is written; a file with a longer line is not a log. */
const MAX_LINE_BYTES = 64 << 10
const NEWLINE = 0x0a

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
