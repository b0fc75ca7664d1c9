import { DatabaseSync } from 'node:sqlite'
import { changeMeta, metaChecksum, readMeta } from './meta.ts'
import { rowChecksum } from './row-checksum.ts'
import {
  isEmpty,
  refuseDamagedStructure,
  refuseOther,
  SCHEMA,
  schemaVersion,
  TABLES,
} from './schema.ts'
import { removeSeal } from './seal.ts'
import { withStorageErrors } from './sqlite-error.ts'

/** From schema 1, whose tables have no checksums, to schema 2; see `migrateFromFirst`. */
const MIGRATION: readonly string[] = [
  'DROP INDEX by_key',
  'DROP INDEX by_revision',
  'ALTER TABLE log RENAME TO first_log',
  'ALTER TABLE meta RENAME TO first_meta',
  ...TABLES,
  `INSERT INTO log SELECT id, revision, key, created, value,
     row_checksum(revision, key, created, value) FROM first_log ORDER BY id`,
  `INSERT INTO meta SELECT 1, oldest, line_revision, line_time,
     meta_checksum(oldest, line_revision, line_time) FROM first_meta`,
  'DROP TABLE first_log',
  'DROP TABLE first_meta',
  `PRAGMA user_version = ${SCHEMA}`,
]

/**
 * In WAL mode with `synchronous = FULL` a commit returns when the log is on the disk. SQLite's page cache is
 * small, because the kernel caches the file anyway.
 */
const SETTINGS = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA cache_size = -8000;
  PRAGMA cell_size_check = ON;
  PRAGMA journal_size_limit = 16777216;`

/**
 * Opens a database for its only writer. A new one gets its tables; an existing one is
 * checked first, and migrated when it has an older schema.
 * @param now milliseconds since the Unix epoch
 * @throws NP_STORAGE_CORRUPT, NP_STORAGE_SCHEMA, and the other errors of SQLite (`sqlite-error.ts`)
 */
export function openForWriting(file: string, now: number): DatabaseSync {
  return withStorageErrors(file, () => {
    const database = new DatabaseSync(file)
    try {
      const isNew = isEmpty(database)
      if (!isNew) refuseUnusable(database, file)
      database.exec(SETTINGS)
      if (isNew) createTables(database, now)
      else upgradeTables(database, Math.floor(now))
      return database
    } catch (error) {
      database.close()
      throw error
    }
  })
}

/** Opens an existing database for reading. @throws NP_STORAGE_SCHEMA, and the errors of SQLite (`sqlite-error.ts`) */
export function openForReading(file: string): DatabaseSync {
  return withStorageErrors(file, () => {
    const database = new DatabaseSync(file, { readOnly: true })
    try {
      refuseOther(database, file)
      database.exec('PRAGMA cache_size = -8000; PRAGMA cell_size_check = ON')
      return database
    } catch (error) {
      database.close()
      throw error
    }
  })
}

function createTables(database: DatabaseSync, now: number): void {
  database.exec(`BEGIN IMMEDIATE; ${TABLES.join(';\n')}; PRAGMA user_version = ${SCHEMA};`)
  const meta = { oldest: 0, lineRevision: 0, lineTime: Math.floor(now) }
  const insertion = database.prepare('INSERT INTO meta VALUES (1, 0, 0, ?, ?)')
  insertion.run(meta.lineTime, metaChecksum(meta))
  database.exec('COMMIT')
}

function refuseUnusable(database: DatabaseSync, file: string): void {
  refuseOther(database, file)
  refuseDamagedStructure(database, file)
}

function upgradeTables(database: DatabaseSync, now: number): void {
  if (schemaVersion(database) !== SCHEMA) migrateFromFirst(database)
  removeSeal(database)
  replaceFuturePoint(database, now)
}

/**
 * Replaces a point (`RevisionPoint`) whose time is in the future. A clock that was ahead set it, and the
 * line would be too low until that time. The newest revision at the present time is a valid point, too.
 */
function replaceFuturePoint(database: DatabaseSync, now: number): void {
  const { oldest, lineRevision, lineTime } = readMeta(database)
  if (lineTime <= now) return
  const row = database.prepare('SELECT ifnull(max(revision), 0) AS newest FROM log').get()
  const newest = Number(row?.['newest'])
  changeMeta(database, { lineTime: now, lineRevision: Math.max(lineRevision, oldest, newest) })
}

/**
 * Migrates a database from schema 1 to schema 2, which has checksums, in one transaction: after a crash the old
 * database is still there, and the next start migrates it. The tables are created again, so that they are
 * exactly those of a new store.
 */
function migrateFromFirst(database: DatabaseSync): void {
  registerChecksums(database)
  database.exec('BEGIN IMMEDIATE')
  try {
    database.exec(MIGRATION.join(';\n'))
    database.exec('COMMIT')
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

function registerChecksums(database: DatabaseSync): void {
  database.function('row_checksum', (revision, key, created, value) =>
    rowChecksum({
      revision: Number(revision),
      key: String(key),
      created: Number(created),
      value: value instanceof Uint8Array ? value : null,
    }),
  )
  database.function('meta_checksum', (oldest, lineRevision, lineTime) =>
    metaChecksum({
      oldest: Number(oldest),
      lineRevision: Number(lineRevision),
      lineTime: Number(lineTime),
    }),
  )
}
