import { bufferOver } from '../../lib/own-buffer.ts'

const NEWLINE = 0x0a

/** Splits a byte stream into lines. */
export interface LineSplitter {
  /**
   * The lines that `chunk` completes, without their newlines; undefined for a line longer than the limit. Blank lines
   * are left out.
   */
  push(chunk: Uint8Array): readonly (string | undefined)[]
}

/**
 * Creates a splitter that keeps at most `limit` bytes of a line: a longer line is dropped while it arrives. A last
 * line without a newline is never returned, because the connection may have broken in the middle of it.
 */
export function createLineSplitter(limit: number): LineSplitter {
  let parts: Uint8Array[] = []
  let size = 0

  function keep(piece: Uint8Array): void {
    size += piece.length
    if (size <= limit) parts.push(piece)
    else parts = []
  }

  function take(): string | undefined {
    const line = size > limit ? undefined : joinedText(parts).trim()
    parts = []
    size = 0
    return line
  }

  return {
    push(chunk) {
      const lines: (string | undefined)[] = []
      let start = 0
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
        keep(chunk.subarray(start, end))
        const line = take()
        if (line !== '') lines.push(line)
        start = end + 1
      }
      if (start < chunk.length) keep(chunk.subarray(start))
      return lines
    },
  }
}

/** The concatenated pieces as UTF-8 text; a single piece is decoded without a copy. */
export function joinedText(parts: readonly Uint8Array[]): string {
  const [only] = parts
  if (only === undefined || parts.length > 1) return Buffer.concat(parts).toString('utf8')
  return bufferOver(only).toString('utf8')
}
