import { existsSync, rmSync } from 'node:fs'
import { type Clock, systemClock } from '../../../lib/clock.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import { openForReading, openForWriting } from '../database/database.ts'
import { LogReader, revisionBeyond } from '../database/log-reader.ts'
import { changeMeta } from '../database/meta.ts'
import { storageError, withStorageErrors } from '../database/sqlite-error.ts'
import { lockDirectory } from '../directory-lock.ts'
import { adoptRestored, createPrivateFile, renameDurably, storeFiles } from '../store-file.ts'
import { LogWriter } from '../writer/log-writer.ts'
import { ANY_VALUE, copyDatabase } from './backup.ts'
import { damagedError, type Examine, inspectDatabase } from './inspect.ts'

export interface RestoreOptions {
  /** Path of a backup. */
  readonly from: string
  /** The data directory, whose store is replaced. */
  readonly directory: string
  /** Default: the system's clock. */
  readonly clock?: Clock
  /** Checks each value of the present state; by default every value is accepted. */
  readonly examine?: Examine
}

/** The result of a restore. */
export interface Restored {
  /** The newest revision of the restored store. */
  readonly revision: number
  /** Whether the backup had a checksum of its whole content; backups of older versions have none. */
  readonly isVerified: boolean
}

/**
 * Replaces the store of a data directory, which no server may use, by a backup. The whole backup is verified
 * first: a damaged one replaces nothing. An interrupted earlier restore is finished first, because it also
 * replaces the store.
 *
 * The revisions of the restored store begin above every revision that the old store can have used, and all
 * older ones are `compacted`. A client that holds an older revision therefore lists again, and never takes an
 * older state for a newer one.
 * @throws NP_STORAGE_LOCKED while a server runs; NP_STORAGE_CORRUPT for a damaged backup; NP_STORAGE_SCHEMA for
 * another database; NP_STORAGE_OPEN; the errors of SQLite
 */
export async function restoreEmbeddedStore(options: RestoreOptions): Promise<Restored> {
  const { from, directory, clock = systemClock, examine = ANY_VALUE } = options
  const lock = lockDirectory(directory)
  try {
    const { partial, restored } = storeFiles(directory)
    removeDatabase(partial)
    const isVerified = await verifiedCopy(from, partial, examine)
    adoptRestored(directory)
    const revision = startNewHistory(partial, {
      replaced: newestOf(directory),
      now: clock.now(),
    })
    renameDurably(partial, restored)
    adoptRestored(directory)
    return { revision, isVerified }
  } finally {
    removeDatabase(storeFiles(directory).partial)
    lock.release()
  }
}

interface NewHistory {
  /** The newest revision of the store that is replaced. */
  readonly replaced: number
  /** Milliseconds since the Unix epoch. */
  readonly now: number
}

/**
 * Copies the backup and inspects the copy.
 * @returns whether the backup had a checksum of its whole content
 */
async function verifiedCopy(from: string, file: string, examine: Examine): Promise<boolean> {
  const hint = 'restore another backup; nothing was replaced'
  createPrivateFile(file)
  try {
    await copyDatabase(from, file)
    const database = openForReading(file)
    try {
      const { findings, isSealed } = inspectDatabase(database, examine)
      if (findings.length > 0) throw damagedError('the backup', from, { findings, hint })
      return isSealed
    } finally {
      database.close()
    }
  } catch (error) {
    const known = storageError(error, from)
    const isDamage = known instanceof NodeProxyError && known.code === 'NP_STORAGE_CORRUPT'
    // With this hint, the error names the backup and its damage already.
    if (!isDamage || known.hint === hint) throw known
    const cause = known.cause instanceof Error ? known.cause.message : known.message
    throw damagedError('the backup', from, { findings: [{ key: '', cause }], hint })
  }
}

/** Removes a database with its write-ahead log, which SQLite would replay into the next file of that name. */
function removeDatabase(file: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true })
}

/**
 * Moves the newest revision above all revisions that were used, and compacts what is older. @returns the new
 * newest revision
 */
function startNewHistory(file: string, { replaced, now }: NewHistory): number {
  const database = openForWriting(file, now)
  try {
    return withStorageErrors(file, () => {
      const reader = new LogReader(database)
      const { newest } = reader.bounds()
      new LogWriter(database).compact(newest)
      const revision = Math.max(revisionBeyond(reader.point(), now), replaced + 1, newest + 1)
      const lineTime = Math.floor(now)
      changeMeta(database, { oldest: revision, lineRevision: revision, lineTime })
      database.exec('PRAGMA journal_mode = DELETE')
      return revision
    })
  } finally {
    database.close()
  }
}

/** The newest revision of the store that is replaced; 0 when there is no readable store. */
function newestOf(directory: string): number {
  const { store } = storeFiles(directory)
  if (!existsSync(store)) return 0
  try {
    const database = openForReading(store)
    try {
      return new LogReader(database).bounds().newest
    } finally {
      database.close()
    }
  } catch {
    return 0
  }
}
