import { DatabaseSync } from 'node:sqlite'
import { changeMeta, metaChecksum, readMeta } from './meta.ts'
import { migrateFromFirst } from './migrate.ts'
import { isEmpty, refuseOther, SCHEMA, schemaVersion, TABLES } from './schema.ts'
import { removeSeal } from './seal.ts'
import { withStorageErrors } from './sqlite-error.ts'
import { refuseDamagedStructure } from './structure.ts'

/**
 * In WAL mode with `synchronous = FULL` a commit returns when the log is on the
 * disk. Pages are cached sparingly: the kernel caches the file anyway.
 */
const settings = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA cache_size = -8000;
  PRAGMA cell_size_check = ON;
  PRAGMA journal_size_limit = 16777216;`

/**
 * Opens the file for the one writer, with its tables if it is new. One that
 * exists is examined first, and migrated if an older version wrote it.
 */
export function openForWriting(file: string, now: number): DatabaseSync {
  return withStorageErrors(file, () => {
    const database = new DatabaseSync(file)
    try {
      const isNew = isEmpty(database)
      if (!isNew) refuseUnusable(database, file)
      database.exec(settings)
      if (isNew) createTables(database, now)
      else takeOver(database, Math.floor(now))
      return database
    } catch (error) {
      database.close()
      throw error
    }
  })
}

/** Opens the file of a store, which must exist, for reading. */
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

function takeOver(database: DatabaseSync, now: number): void {
  if (schemaVersion(database) !== SCHEMA) migrateFromFirst(database)
  removeSeal(database)
  putPointRight(database, now)
}

/**
 * A point in the future was set by a clock that was ahead, and the line would
 * lie too low until then. A store stands at its newest revision now: that is a
 * point, too.
 */
function putPointRight(database: DatabaseSync, now: number): void {
  const { oldest, lineRevision, lineTime } = readMeta(database)
  if (lineTime <= now) return
  const row = database.prepare('SELECT ifnull(max(revision), 0) AS newest FROM log').get()
  const newest = Number(row?.['newest'])
  changeMeta(database, { lineTime: now, lineRevision: Math.max(lineRevision, oldest, newest) })
}
