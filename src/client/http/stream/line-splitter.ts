import { joinedText } from './joined-text.ts'

const NEWLINE = 0x0a

export interface LineSplitter {
  /**
   * The lines that `chunk` completes, without their newlines; undefined stands
   * for a line longer than the limit. Blank lines are left out.
   */
  push(chunk: Uint8Array): readonly (string | undefined)[]
}

/**
 * Cuts a byte stream into lines and keeps at most `limit` bytes of one of them:
 * a longer line is thrown away as it arrives. A line without
 * its newline is never handed out: the connection may have died in its middle.
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
