import { existsSync, readFileSync } from 'node:fs'
import { NodeProxyError } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'
import { withOpenErrors } from './open-error.ts'

/** Sizes and places in the two files (sqlite.org/walformat.html). */
const LOG_HEADER = 32
const FRAME_HEADER = 24
const INDEX_HEADER = 48
const INDEX_VERSION = 3_007_000

/** What SQLite noted beside its log; in the byte order of the machine, except for the salt. */
interface LogIndex {
  /** Frames of the log that were committed, on the disk before they were counted. */
  readonly frames: number
  /** Those of them that the store's file has, too. */
  readonly copied: number
  /** Tells this log from those before it in the same file. */
  readonly salt: Buffer
}

/**
 * SQLite takes a log up to its first faulty frame, for that is how a crash
 * looks; so writes that were acknowledged would be missing in silence when the
 * log is cut or damaged while no server runs. Its index outlives a killed
 * process, though not always a power failure, and counts only what was flushed:
 * a log with fewer good frames than that has lost some. To be asked before
 * SQLite opens the files: to close one here would drop its locks on it.
 * @throws NP_STORAGE_CORRUPT
 */
export function refuseCutLog(store: string): void {
  const [logFile, indexFile] = [`${store}-wal`, `${store}-shm`]
  const index = existsSync(indexFile) ? readIndex(contentOf(indexFile)) : undefined
  if (index === undefined || index.copied >= index.frames) return
  const log = existsSync(logFile) ? contentOf(logFile) : Buffer.alloc(0)
  const isOther = log.length >= LOG_HEADER && !log.subarray(16, 24).equals(index.salt)
  if (isOther) return
  const good = goodFrames(log, index.frames)
  if (good === index.frames) return
  throw new NodeProxyError(
    'NP_STORAGE_CORRUPT',
    `${quote(logFile)} has lost acknowledged writes: ${good} of ${index.frames} pages are left`,
    {
      object: store,
      hint: 'keep the files; restore the latest backup, or what is left: back up, and restore that',
    },
  )
}

function contentOf(file: string): Buffer {
  return withOpenErrors(file, () => readFileSync(file))
}

/** Undefined where the index was being written, or is of a kind that is not known here. */
function readIndex(bytes: Buffer): LogIndex | undefined {
  if (bytes.length < 2 * INDEX_HEADER + 4) return undefined
  const header = bytes.subarray(0, INDEX_HEADER)
  if (!header.equals(bytes.subarray(INDEX_HEADER, 2 * INDEX_HEADER))) return undefined
  const word = new Uint32Array(Uint8Array.from(bytes.subarray(0, 2 * INDEX_HEADER + 4)).buffer)
  if (word[0] !== INDEX_VERSION || header[12] !== 1) return undefined
  return { frames: word[4]!, copied: word[24]!, salt: header.subarray(32, 40) }
}

/** How many frames at the beginning are what was written, up to `most`. */
function goodFrames(log: Buffer, most: number): number {
  if (log.length < LOG_HEADER) return 0
  const isLittle = (log.readUInt32BE(0) & 1) === 0
  const size = FRAME_HEADER + log.readUInt32BE(8)
  let sum = checksum(log.subarray(0, 24), isLittle, [0, 0])
  for (let frame = 0; frame < most; frame++) {
    const bytes = log.subarray(LOG_HEADER + frame * size, LOG_HEADER + (frame + 1) * size)
    if (bytes.length < size || !bytes.subarray(8, 16).equals(log.subarray(16, 24))) return frame
    sum = checksum(bytes.subarray(0, 8), isLittle, sum)
    sum = checksum(bytes.subarray(FRAME_HEADER), isLittle, sum)
    if (bytes.readUInt32BE(16) !== sum[0] || bytes.readUInt32BE(20) !== sum[1]) return frame
  }
  return most
}

type Checksum = readonly [number, number]

/** Of whole pairs of words, going on from `before`. */
function checksum(bytes: Buffer, isLittle: boolean, before: Checksum): Checksum {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  let [first, second] = before
  for (let at = 0; at < bytes.length; at += 8) {
    first = (first + view.getUint32(at, isLittle) + second) >>> 0
    second = (second + view.getUint32(at + 4, isLittle) + first) >>> 0
  }
  return [first, second]
}
