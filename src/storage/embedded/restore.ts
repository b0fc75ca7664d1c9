import { existsSync, rmSync } from 'node:fs'
import { type Clock, systemClock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { ANY_VALUE, copyDatabase } from './backup.ts'
import { damagedError } from './damaged-error.ts'
import { openForReading, openForWriting } from './database.ts'
import { lockDirectory } from './directory-lock.ts'
import { type Examine, inspectDatabase } from './inspect.ts'
import { LogReader } from './log-reader.ts'
import { LogWriter } from './log-writer.ts'
import { changeMeta } from './meta.ts'
import { beyond } from './revision-line.ts'
import { storageError, withStorageErrors } from './sqlite-error.ts'
import { adoptRestored, makePrivate, publish, storeFiles } from './store-file.ts'

export interface RestoreOptions {
  /** A backup. */
  readonly from: string
  /** The data directory; what it held is replaced. */
  readonly directory: string
  readonly clock?: Clock
  /** Looks at every value of the backup; any is taken unless given. */
  readonly examine?: Examine
}

export interface Restored {
  /** Where the restored store stands. */
  readonly revision: number
  /** Whether the backup had a checksum of its whole content; those of older versions have none. */
  readonly isVerified: boolean
}

/**
 * Makes a backup the content of a data directory that no server uses; a restore
 * that was interrupted there is ended first, for it replaced a store, too. The
 * restored store goes on above every revision that the old one can have given
 * out; all before is `compacted`. So a client with a revision of the old world
 * lists again and is never shown an older state as a newer one. The backup is
 * verified first, as a whole and value by value: one that is damaged replaces nothing.
 * @throws NP_STORAGE_LOCKED while a server runs, NP_STORAGE_CORRUPT, NP_STORAGE_SCHEMA, …
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
    publish(partial, restored)
    adoptRestored(directory)
    return { revision, isVerified }
  } finally {
    removeDatabase(storeFiles(directory).partial)
    lock.release()
  }
}

interface Moment {
  /** The newest revision of the store that is replaced. */
  readonly replaced: number
  readonly now: number
}

/**
 * Copies the backup and looks at everything in the copy.
 * @returns whether the backup had a checksum of its whole content
 */
async function verifiedCopy(from: string, file: string, examine: Examine): Promise<boolean> {
  const hint = 'restore another backup; nothing was replaced'
  makePrivate(file)
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
    const isRaw = known instanceof NodeProxyError && known.code === 'NP_STORAGE_CORRUPT'
    if (!isRaw || known.hint === hint) throw known
    const cause = known.cause instanceof Error ? known.cause.message : known.message
    throw damagedError('the backup', from, { findings: [{ key: '', cause }], hint })
  }
}

/** With its log, which SQLite would replay into the next file of that name. */
function removeDatabase(file: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true })
}

function startNewHistory(file: string, { replaced, now }: Moment): number {
  const database = openForWriting(file, now)
  try {
    return withStorageErrors(file, () => {
      const reader = new LogReader(database)
      const { newest } = reader.bounds()
      new LogWriter(database).compact(newest)
      const revision = Math.max(beyond(reader.point(), now), replaced + 1, newest + 1)
      const lineTime = Math.floor(now)
      changeMeta(database, { oldest: revision, lineRevision: revision, lineTime })
      database.exec('PRAGMA journal_mode = DELETE')
      return revision
    })
  } finally {
    database.close()
  }
}

/** The newest revision of the store that is replaced; 0 where there is none that can be read. */
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
