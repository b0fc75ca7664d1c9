import { writeSync } from 'node:fs'
import type { DestinationStream } from 'pino'

/** Bytes of records that are kept while they cannot be written. */
const MAX_BUFFERED_BYTES = 1 << 20
/** Between two attempts to write to a full pipe. */
const RETRY_MS = 50

export interface LogDestinationOptions {
  /** Called when writing succeeds again, with the number of dropped records. */
  readonly onLoss: (records: number) => void
  /** The file descriptor. Default: standard output. */
  readonly fd?: number
}

/**
 * Writes each record at once, so that none is pending when the process ends. When a write fails (a full disk, a
 * closed terminal or reader), records are buffered, up to a megabyte, and each new record repeats the attempt.
 */
export function openLogDestination({ onLoss, fd = 1 }: LogDestinationOptions): DestinationStream {
  const waiting: Buffer[] = []
  let bytes = 0
  let lost = 0
  const writeAll = (): void => {
    for (let first = waiting[0]; first !== undefined; first = waiting[0]) {
      const written = tryWrite(fd, first)
      if (written === undefined) return
      bytes -= written
      if (written === first.length) waiting.shift()
      else waiting[0] = first.subarray(written)
    }
  }
  const hasSpace = (record: Buffer): boolean =>
    bytes === 0 || bytes + record.length <= MAX_BUFFERED_BYTES
  return {
    write(line) {
      const record = Buffer.from(line)
      if (!hasSpace(record)) writeAll()
      if (!hasSpace(record)) {
        lost += 1
        return
      }
      waiting.push(record)
      bytes += record.length
      writeAll()
      if (bytes > 0 || lost === 0) return
      const records = lost
      lost = 0
      onLoss(records)
    },
  }
}

/** How many bytes were written. A pipe that is full for now (EAGAIN) is waited for. */
function tryWrite(fd: number, bytes: Buffer): number | undefined {
  for (;;) {
    try {
      return writeSync(fd, bytes)
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) return undefined
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS)
    }
  }
}
