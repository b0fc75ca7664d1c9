import { existsSync, rmSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { type Clock, systemClock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'
import { writeBackup } from './backup.ts'
import { openForReading, openForWriting } from './database.ts'
import { lockDirectory } from './directory-lock.ts'
import { LogReader } from './log-reader.ts'
import { LogWriter } from './log-writer.ts'
import { beyond } from './revision-line.ts'
import { withStorageErrors } from './sqlite-error.ts'
import { adoptRestored, publish, storeFiles } from './store-file.ts'

export interface RestoreOptions {
  /** A backup. */
  readonly from: string
  /** The data directory; what it held is replaced. */
  readonly directory: string
  readonly clock?: Clock
}

/**
 * Makes a backup the content of a data directory that no server uses; a restore
 * that was interrupted there is ended first, for it replaced a store, too. The
 * restored store goes on above every revision that the old one can have given
 * out; all before is `compacted`. So a client with a revision of the old world
 * lists again and is never shown an older state as a newer one.
 * @returns the revision at which the restored store stands
 * @throws NP_STORAGE_LOCKED while a server runs, NP_STORAGE_CORRUPT, NP_STORAGE_SCHEMA, …
 */
export async function restoreEmbeddedStore(options: RestoreOptions): Promise<number> {
  const { from, directory, clock = systemClock } = options
  const lock = lockDirectory(directory)
  try {
    adoptRestored(directory)
    const { partial, restored } = storeFiles(directory)
    removeDatabase(partial)
    const revision = await prepare(from, partial, {
      replaced: newestOf(directory),
      now: clock.now(),
    })
    publish(partial, restored)
    adoptRestored(directory)
    return revision
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

/** What is found to be damaged here is the backup, of which `file` is a copy. */
async function prepare(from: string, file: string, moment: Moment): Promise<number> {
  try {
    await writeBackup(from, file)
    return startNewHistory(file, moment)
  } catch (error) {
    if (!(error instanceof NodeProxyError) || error.code !== 'NP_STORAGE_CORRUPT') throw error
    const words = error.cause instanceof Error ? error.cause.message : error.message
    throw new NodeProxyError(
      'NP_STORAGE_CORRUPT',
      `the backup ${quote(from)} is damaged: ${words}`,
      {
        object: from,
        hint: 'restore another backup; nothing was replaced',
        cause: error.cause,
      },
    )
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
      refuseDamaged(database)
      const reader = new LogReader(database)
      const { newest } = reader.bounds()
      new LogWriter(database).compact(newest)
      const revision = Math.max(beyond(reader.point(), now), replaced + 1, newest + 1)
      database
        .prepare('UPDATE meta SET oldest = ?, line_revision = ?, line_time = ?')
        .run(revision, revision, Math.floor(now))
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

function refuseDamaged(database: DatabaseSync): void {
  const verdict = database.prepare('PRAGMA integrity_check(1)').get()?.['integrity_check']
  if (verdict !== 'ok') throw new NodeProxyError('NP_STORAGE_CORRUPT', String(verdict))
}
