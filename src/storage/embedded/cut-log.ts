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
  /** Distinguishes this log from those before it in the same file. */
  readonly salt: Buffer
}

/**
 * SQLite takes a log up to its first faulty frame, for that is how a crash
 * looks; so writes that were acknowledged would be missing in silence when the
 * log is cut or damaged while no server runs. Its index outlives a killed
 * process, though not always a power failure, and counts only what was flushed:
 * a log with fewer good frames than that has lost some. Without an index the log
 * itself proves the loss when a transaction stands behind the one that is
 * faulty: it was begun only after that one had been flushed. Call it before
 * SQLite opens the files: to close one here would drop its locks on it.
 * @throws NP_STORAGE_CORRUPT
 */
export function refuseCutLog(store: string): void {
  const [logFile, indexFile] = [`${store}-wal`, `${store}-shm`]
  const log = existsSync(logFile) ? contentOf(logFile) : Buffer.alloc(0)
  const index = existsSync(indexFile) ? readIndex(contentOf(indexFile)) : undefined
  const good = goodFrames(log)
  const isKnown = index !== undefined && !isOther(log, index)
  // SQLite takes nothing of the log then, and the store's file has everything.
  if (isKnown && good === 0 && index.copied >= index.frames) return
  if (isKnown && good < index.frames) {
    throw lostWrites(store, logFile, `${good} of ${index.frames} pages are left`)
  }
  if (index === undefined && startOf(log) === undefined && holdsFrames(log)) {
    throw lostWrites(store, logFile, 'its head is damaged')
  }
  if (startOf(log) !== undefined && isFollowed(log, good)) {
    throw lostWrites(store, logFile, `page ${good + 1} is damaged, and later ones are not`)
  }
}

function lostWrites(store: string, logFile: string, what: string): NodeProxyError {
  return new NodeProxyError(
    'NP_STORAGE_CORRUPT',
    `${quote(logFile)} has lost acknowledged writes: ${what}`,
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

/** The head of a log is on the disk before its first frame is written. */
function holdsFrames(log: Buffer): boolean {
  return log.subarray(LOG_HEADER).some((byte) => byte !== 0)
}

/** A log that began anew since the index was written; one whose header is damaged is none. */
function isOther(log: Buffer, { salt }: LogIndex): boolean {
  return startOf(log) !== undefined && !log.subarray(16, 24).equals(salt)
}

/** What the checksums of the frames go on from; undefined: the header is faulty, so SQLite takes none. */
function startOf(log: Buffer): Checksum | undefined {
  if (log.length < LOG_HEADER) return undefined
  const sum = checksum(log.subarray(0, 24), isLittle(log), [0, 0])
  return sum[0] === log.readUInt32BE(24) && sum[1] === log.readUInt32BE(28) ? sum : undefined
}

/** How many frames at the beginning are what was written. */
function goodFrames(log: Buffer): number {
  let sum = startOf(log)
  let frame = 0
  for (; sum !== undefined; frame++) {
    sum = checkedFrame(log, frame, sum)
    if (sum === undefined) return frame
  }
  return 0
}

/** The checksum of a frame, if the one that it carries is the same. */
function checkedFrame(log: Buffer, frame: number, before: Checksum): Checksum | undefined {
  const bytes = frameAt(log, frame)
  if (bytes === undefined || !isOfThisLog(log, bytes)) return undefined
  const head = checksum(bytes.subarray(0, 8), isLittle(log), before)
  const sum = checksum(bytes.subarray(FRAME_HEADER), isLittle(log), head)
  const carried = carriedBy(bytes)
  return carried[0] === sum[0] && carried[1] === sum[1] ? sum : undefined
}

/** Whether a good frame stands behind the transaction that the faulty one belongs to. */
function isFollowed(log: Buffer, faulty: number): boolean {
  let isBehind = false
  for (let frame = faulty; ; frame++) {
    const bytes = frameAt(log, frame)
    if (bytes === undefined) return false
    const before = frame > 0 ? carriedBy(frameAt(log, frame - 1)!) : undefined
    if (isBehind && before && checkedFrame(log, frame, before) !== undefined) return true
    isBehind ||= isOfThisLog(log, bytes) && bytes.readUInt32BE(4) !== 0
  }
}

function frameAt(log: Buffer, frame: number): Buffer | undefined {
  const size = FRAME_HEADER + log.readUInt32BE(8)
  const bytes = log.subarray(LOG_HEADER + frame * size, LOG_HEADER + (frame + 1) * size)
  return bytes.length < size ? undefined : bytes
}

function isOfThisLog(log: Buffer, frame: Buffer): boolean {
  return frame.subarray(8, 16).equals(log.subarray(16, 24))
}

function carriedBy(frame: Buffer): Checksum {
  return [frame.readUInt32BE(16), frame.readUInt32BE(20)]
}

function isLittle(log: Buffer): boolean {
  return (log.readUInt32BE(0) & 1) === 0
}

type Checksum = readonly [number, number]

/** Of whole pairs of words, going on from `before`. */
function checksum(bytes: Buffer, little: boolean, before: Checksum): Checksum {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  let [first, second] = before
  for (let at = 0; at < bytes.length; at += 8) {
    first = (first + view.getUint32(at, little) + second) >>> 0
    second = (second + view.getUint32(at + 4, little) + first) >>> 0
  }
  return [first, second]
}
