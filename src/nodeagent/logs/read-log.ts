import type { LogOptions } from '../../streams/node-streams.ts'
import { logFiles } from './container-log.ts'
import { LogCursor } from './log-cursor.ts'
import { type LogEntry, logTime } from './log-entry.ts'
import type { LogProgress } from './log-progress.ts'

export interface ReadLogOptions extends Omit<LogOptions, 'previous'> {
  /** Undefined: the run is over, so there is nothing to follow. */
  readonly progress: LogProgress | undefined
  readonly signal: AbortSignal
}

const NEWLINE = Buffer.from('\n')

/**
 * The output of one run of a container as it was written, from the files that `openContainerLog` made. A
 * follower that is slower than two full files misses what was in between.
 */
export async function* readLog(path: string, options: ReadLogOptions): AsyncGenerator<Buffer> {
  const cursors: LogCursor[] = []
  try {
    for (const file of logFiles(path)) {
      const cursor = await LogCursor.open(file)
      if (cursor !== undefined) cursors.push(cursor)
    }
    const format = await formatOf(cursors, options)
    for (const cursor of cursors) yield* readAll(cursor, format)
    if (options.follow && options.progress !== undefined) {
      yield* follow(path, cursors, { ...options, progress: options.progress, format })
    }
  } finally {
    for (const cursor of cursors) await cursor.close()
  }
}

type Format = (entries: readonly LogEntry[]) => Buffer

async function* readAll(cursor: LogCursor, format: Format): AsyncGenerator<Buffer> {
  for (;;) {
    const entries = await cursor.read()
    if (entries.length === 0) return
    const bytes = format(entries)
    if (bytes.length > 0) yield bytes
  }
}

interface Following {
  readonly progress: LogProgress
  readonly signal: AbortSignal
  readonly format: Format
}

/** Goes on with the newest file, and with those that take its place. */
async function* follow(
  path: string,
  cursors: LogCursor[],
  { progress, signal, format }: Following,
): AsyncGenerator<Buffer> {
  const aborted = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
  while (!signal.aborted) {
    const changed = progress.next()
    const { isClosed } = progress
    const cursor = cursors.at(-1)
    if (cursor !== undefined) yield* readAll(cursor, format)
    const isRotated = cursor === undefined || (await cursor.isRotated(path))
    const next = isRotated ? await LogCursor.open(path) : undefined
    if (next !== undefined) {
      if (cursor !== undefined) {
        yield* readAll(cursor, format)
        await cursors.pop()?.close()
      }
      cursors.push(next)
    } else if (isClosed) return
    else await Promise.race([changed, aborted])
  }
}

/** Writes what is wanted of the entries; counts lines first where only the last ones are. */
async function formatOf(
  cursors: readonly LogCursor[],
  { since, tailLines, timestamps }: ReadLogOptions,
): Promise<Format> {
  const from = since === undefined ? '' : logTime(since)
  const isRecent = ({ time }: LogEntry): boolean => time >= from
  let skipped = 0
  if (tailLines !== undefined) {
    skipped = Math.max(0, (await countLines(cursors, isRecent)) - tailLines)
    for (const cursor of cursors) cursor.rewind()
  }
  let isBegun = false
  return (entries) => {
    const parts: Buffer[] = []
    for (const { time, isWhole, text } of entries.filter(isRecent)) {
      const isFirst = !isBegun
      isBegun = !isWhole
      if (skipped > 0) {
        if (isWhole) skipped--
        continue
      }
      if (timestamps && isFirst) parts.push(Buffer.from(`${time} `))
      parts.push(text)
      if (isWhole) parts.push(NEWLINE)
    }
    return Buffer.concat(parts)
  }
}

async function countLines(
  cursors: readonly LogCursor[],
  isRecent: (entry: LogEntry) => boolean,
): Promise<number> {
  let lines = 0
  let isWholeLast = true
  for (const cursor of cursors) {
    for (let entries = await cursor.read(); entries.length > 0; entries = await cursor.read()) {
      for (const { isWhole } of entries.filter(isRecent)) {
        if (isWhole) lines++
        isWholeLast = isWhole
      }
    }
  }
  return isWholeLast ? lines : lines + 1
}
