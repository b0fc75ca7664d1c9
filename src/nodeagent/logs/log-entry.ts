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
export function writeEntry({ time, isWhole, text }: LogEntry, stream: 'stdout' | 'stderr'): Buffer {
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
