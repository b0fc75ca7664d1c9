import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { NodeProxyError } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'
import { lockDirectory } from './directory-lock.ts'
import { storeFiles, withOpenErrors } from './store-file.ts'
import { WalFile } from './wal-file.ts'

const HEADER_BYTES = 48
const VERSION = 3_007_000

/**
 * Refuses a database whose write-ahead log was truncated or damaged while no server ran. SQLite reads a log up to
 * the first damaged frame, as after a crash, so it would silently lose the acknowledged transactions behind it. Two
 * things prove a loss:
 *
 * - The index of the log counts more frames than the log has intact ones. The index counts only what was flushed. It
 *   is still there after a killed process, but not always after a power failure.
 * - Without an index, an intact transaction follows the damaged one. A transaction is flushed before the next begins,
 *   so the damaged one was whole at that time.
 *
 * Must be called before SQLite opens the files: closing one here would drop SQLite's locks on it.
 * @param database path of the database file
 * @throws NP_STORAGE_CORRUPT
 */
export function refuseTruncatedWal(database: string): void {
  const [walPath, indexPath] = [`${database}-wal`, `${database}-shm`]
  const wal = new WalFile(existsSync(walPath) ? contentOf(walPath) : Buffer.alloc(0))
  const index = existsSync(indexPath) ? readWalIndex(contentOf(indexPath)) : undefined
  const intact = wal.countIntact()
  // An index with another salt is about an earlier log in the same file.
  const isOfThisLog = index !== undefined && (!wal.isHeaderIntact || wal.salt.equals(index.salt))
  const isAllCopied = isOfThisLog && index.copied >= index.frames
  if (intact === 0 && isAllCopied) return
  if (isOfThisLog && intact < index.frames) {
    throw lostWrites(database, walPath, `${intact} of ${index.frames} pages are left`)
  }
  if (index === undefined && !wal.isHeaderIntact && wal.hasFrames) {
    throw lostWrites(database, walPath, 'its header is damaged')
  }
  if (wal.isHeaderIntact && wal.hasIntactAfterTransactionOf(intact)) {
    throw lostWrites(database, walPath, `page ${intact + 1} is damaged, and later ones are not`)
  }
}

function contentOf(file: string): Buffer {
  return withOpenErrors(file, () => readFileSync(file))
}

function lostWrites(database: string, walPath: string, what: string): NodeProxyError {
  return new NodeProxyError(
    'NP_STORAGE_CORRUPT',
    `${quote(walPath)} has lost acknowledged writes: ${what}`,
    {
      object: database,
      hint: 'keep the files; restore the latest backup, or keep what is left: back up this store, and restore that backup',
    },
  )
}

/** What SQLite's index of a log (`-shm`) says about it. */
interface WalIndex {
  /** Committed frames of the log. They were on the disk before the index counted them. */
  readonly frames: number
  /** How many of them were copied to the database. */
  readonly copied: number
  /** The salt of the log that the index is about. 8 bytes. */
  readonly salt: Buffer
}

/**
 * Reads an index (sqlite.org/walformat.html), whose numbers have the byte order of the machine.
 * Undefined when SQLite was writing it, or for a version that is not known here.
 */
function readWalIndex(bytes: Buffer): WalIndex | undefined {
  if (bytes.length < 2 * HEADER_BYTES + 4) return undefined
  const header = bytes.subarray(0, HEADER_BYTES)
  const copy = bytes.subarray(HEADER_BYTES, 2 * HEADER_BYTES)
  if (!header.equals(copy)) return undefined
  const word = new Uint32Array(Uint8Array.from(bytes.subarray(0, 2 * HEADER_BYTES + 4)).buffer)
  if (word[0] !== VERSION || header[12] !== 1) return undefined
  return { frames: word[4]!, copied: word[24]!, salt: header.subarray(32, 40) }
}

/**
 * As `refuseTruncatedWal`, for a file that is opened for reading: SQLite then also reads a damaged log only up
 * to the damage. Checks nothing while a server uses the store, because its log is complete and changes during
 * the check. Checks nothing for a file that is not the store of a data directory either: it has no log.
 * @throws NP_STORAGE_CORRUPT
 */
export function refuseTruncatedWalAtRest(file: string): void {
  const directory = dirname(file)
  const isStore = file === storeFiles(directory).store && existsSync(join(directory, 'lock'))
  if (isStore && !isInUse(directory)) refuseTruncatedWal(file)
}

function isInUse(directory: string): boolean {
  try {
    lockDirectory(directory).release()
    return false
  } catch (error) {
    if (error instanceof NodeProxyError) return true
    throw error
  }
}
