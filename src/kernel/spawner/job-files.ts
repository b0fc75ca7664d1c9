import { readFileSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { open, readFile } from 'node:fs/promises'

/** From this size on, files are read and written piecewise, off the event loop. */
const PIECE = 256 * 1024

/** Paths of the files of one job: standard input, output and error. */
export interface JobFiles {
  readonly input: string
  readonly output: string
  readonly errors: string
}

/** The paths for the job with this number. */
export function jobFiles(directory: string, id: number): JobFiles {
  const base = `${directory}/${id}`
  return { input: `${base}.in`, output: `${base}.out`, errors: `${base}.err` }
}

/** Writes the whole input before the program starts: it is complete even if the daemon dies. */
export async function writeInput(path: string, text: string | Iterable<string>): Promise<void> {
  if (typeof text === 'string' && text.length < PIECE) {
    return writeFileSync(path, text, { flag: 'wx', mode: 0o600 })
  }
  const file = await open(path, 'wx', 0o600)
  try {
    for (const piece of pieces(typeof text === 'string' ? [text] : text))
      await file.appendFile(piece)
  } finally {
    await file.close()
  }
}

/** Joins small chunks, so that a text of many short lines costs few writes. */
function* pieces(chunks: Iterable<string>): Generator<string> {
  let piece = ''
  for (const chunk of chunks) {
    piece += chunk
    if (piece.length < PIECE) continue
    yield piece
    piece = ''
  }
  if (piece !== '') yield piece
}

/** The contents of a file as text. */
export async function readText(path: string): Promise<string> {
  return statSync(path).size <= PIECE ? readFileSync(path, 'utf8') : readFile(path, 'utf8')
}

/** Calls back for every line; each is a string of its own that retains no buffer. */
export async function readLines(path: string, onLine: (line: string) => void): Promise<void> {
  const file = await open(path, 'r')
  try {
    let buffer = Buffer.alloc(PIECE)
    let filled = 0
    for (;;) {
      if (filled === buffer.length) buffer = Buffer.concat([buffer], buffer.length * 2)
      const { bytesRead } = await file.read(buffer, filled, buffer.length - filled)
      if (bytesRead === 0) break
      filled = takeLines(buffer, filled + bytesRead, onLine)
    }
    if (filled > 0) onLine(buffer.toString('utf8', 0, filled))
  } finally {
    await file.close()
  }
}

/** Passes on the complete lines and moves the rest to the front; returns its length. */
function takeLines(buffer: Buffer, length: number, onLine: (line: string) => void): number {
  let start = 0
  for (;;) {
    const end = buffer.indexOf(10, start)
    if (end < 0 || end >= length) break
    onLine(buffer.toString('utf8', start, end))
    start = end + 1
  }
  buffer.copy(buffer, 0, start, length)
  return length - start
}

/** Deletes the files of a job; absent ones are no error. */
export function removeFiles(files: JobFiles): void {
  for (const path of [files.input, files.output, files.errors]) {
    try {
      unlinkSync(path)
    } catch {
      // never created, or gone with the directory
    }
  }
}
