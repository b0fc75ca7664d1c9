/** What SQLite's index of a log (`-shm`) says about it. */
export interface WalIndex {
  /** Committed frames of the log. They were on the disk before the index counted them. */
  readonly frames: number
  /** How many of them were copied to the database. */
  readonly copied: number
  /** The salt of the log that the index is about. 8 bytes. */
  readonly salt: Buffer
}

const HEADER_BYTES = 48
const VERSION = 3_007_000

/**
 * Reads an index (sqlite.org/walformat.html), whose numbers have the byte order of the machine.
 * Undefined when SQLite was writing it, or for a version that is not known here.
 */
export function readWalIndex(bytes: Buffer): WalIndex | undefined {
  if (bytes.length < 2 * HEADER_BYTES + 4) return undefined
  const header = bytes.subarray(0, HEADER_BYTES)
  const copy = bytes.subarray(HEADER_BYTES, 2 * HEADER_BYTES)
  if (!header.equals(copy)) return undefined
  const word = new Uint32Array(Uint8Array.from(bytes.subarray(0, 2 * HEADER_BYTES + 4)).buffer)
  if (word[0] !== VERSION || header[12] !== 1) return undefined
  return { frames: word[4]!, copied: word[24]!, salt: header.subarray(32, 40) }
}
