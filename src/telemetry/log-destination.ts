import { writeSync } from 'node:fs'
import type { DestinationStream } from 'pino'

/** What is kept of records that cannot be written yet. */
const MAX_BUFFERED_BYTES = 1 << 20
const TIMEOUT_MS = 50

export interface LogDestinationOptions {
  /** Called once writing works again, with the number of records that the buffer could not hold. */
  readonly onLoss: (records: number) => void
  /** Standard output unless given. */
  readonly fd?: number
}

/**
 * Where records go: written at once, so none is pending when the process ends,
 * whatever ends it. A write that fails (a full disk, a terminal or a reader that is
 * gone) does not stop the program: records wait, up to a megabyte of them, and each new one is
 * the occasion of one more try.
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
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, TIMEOUT_MS)
    }
  }
}
