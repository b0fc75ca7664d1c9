import { rename, rm } from 'node:fs/promises'
import { Writable } from 'node:stream'
import type { Clock } from '../../lib/clock.ts'
import { openRotatingLog, type RotatingLog } from '../process/rotating-log.ts'
import { logTime, writeEntry } from './log-entry.ts'
import { LogProgress } from './log-progress.ts'

/** Where the output of one run of a container goes. */
export interface ContainerLog {
  readonly stdout: Writable
  readonly stderr: Writable
  readonly progress: LogProgress
  /** Writes what is left, also of a line without an end, and closes the file. */
  close(): Promise<void>
}

/** A line that is longer is kept in parts. */
const MAX_PART_BYTES = 16 << 10
const NEWLINE = 0x0a

/** The files of a run: the full one before the present one, if there is one, and the present one. */
export function logFiles(path: string): readonly string[] {
  return [`${path}.1`, path]
}

/** The path of the run before. */
export function previousLog(path: string): string {
  return `${path}.previous`
}

/** Begins the log of a run; that of the run before stays beside it, and the one before that goes. */
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

/** Lines without their ends, and what has no end yet. */
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
