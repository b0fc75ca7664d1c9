import { DatabaseSync } from 'node:sqlite'
import { NodeProxyError } from '../../lib/error.ts'
import { withStorageErrors } from './sqlite-error.ts'

/** Version of the tables below, kept in SQLite's `user_version`. */
const SCHEMA = 1

/**
 * One log and nothing beside it: the present state is the newest row of each
 * key, so no second table can disagree. `created` is 0 where the key was
 * deleted. `by_key` answers lists without reading a value.
 *
 * `meta` says what the rows cannot: `oldest`, the revision up to which history
 * is forgotten (after a restore also the newest); `line_revision` and
 * `line_time`, see `revision-line.ts`.
 */
const tables = `
  CREATE TABLE log (
    id INTEGER PRIMARY KEY,
    revision INTEGER NOT NULL,
    key TEXT NOT NULL,
    created INTEGER NOT NULL,
    value BLOB
  ) STRICT;
  CREATE UNIQUE INDEX by_key ON log (key, revision, created);
  CREATE INDEX by_revision ON log (revision);
  CREATE TABLE meta (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    oldest INTEGER NOT NULL,
    line_revision INTEGER NOT NULL,
    line_time INTEGER NOT NULL
  ) STRICT;`

/**
 * In WAL mode with `synchronous = FULL` a commit returns when the log is on the
 * disk. Pages are cached sparingly: the kernel caches the file anyway.
 */
const settings = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA cache_size = -8000;
  PRAGMA journal_size_limit = 16777216;`

/** Opens the file for the one writer, with its tables if it is new. */
export function openForWriting(file: string, now: number): DatabaseSync {
  return withStorageErrors(file, () => {
    const database = new DatabaseSync(file)
    try {
      const isNew = isEmpty(database)
      if (!isNew) refuseOther(database, file)
      database.exec(settings)
      if (isNew) createTables(database, now)
      else putPointRight(database, Math.floor(now))
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
      database.exec('PRAGMA cache_size = -8000')
      return database
    } catch (error) {
      database.close()
      throw error
    }
  })
}

function createTables(database: DatabaseSync, now: number): void {
  database.exec(`BEGIN IMMEDIATE; ${tables} PRAGMA user_version = ${SCHEMA};`)
  database.prepare('INSERT INTO meta VALUES (1, 0, 0, ?)').run(Math.floor(now))
  database.exec('COMMIT')
}

/**
 * A point in the future was set by a clock that was ahead, and the line would
 * lie too low until then. A store stands at its newest revision now: that is a
 * point, too.
 */
function putPointRight(database: DatabaseSync, now: number): void {
  const point = database.prepare('SELECT line_time FROM meta').get()
  if (Number(point?.['line_time']) <= now) return
  database
    .prepare(
      `UPDATE meta SET line_time = ?, line_revision =
         max(line_revision, oldest, ifnull((SELECT max(revision) FROM log), 0))`,
    )
    .run(now)
}

function isEmpty(database: DatabaseSync): boolean {
  return schemaVersion(database) === 0 && tablesOf(database).length === 0
}

function schemaVersion(database: DatabaseSync): number {
  return Number(database.prepare('PRAGMA user_version').get()?.['user_version'])
}

function tablesOf(database: DatabaseSync): readonly unknown[] {
  const rows = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
  return rows.map(({ name }) => name)
}

/** Other programs count the versions of their tables, too: ours are known by name. */
function refuseOther(database: DatabaseSync, file: string): void {
  const version = schemaVersion(database)
  const tables = tablesOf(database)
  if (version === SCHEMA && ['log', 'meta'].every((name) => tables.includes(name))) return
  if (version === 0 || version === SCHEMA) throw notAStore(file)
  throw new NodeProxyError(
    'NP_STORAGE_SCHEMA',
    `the store has schema ${version}, this program knows ${SCHEMA}`,
    { object: file, hint: 'run the version of the program that wrote it, or a newer one' },
  )
}

function notAStore(file: string): NodeProxyError {
  return new NodeProxyError('NP_STORAGE_SCHEMA', 'the database is no store of this program', {
    object: file,
    hint: 'name a data directory or a backup that this program has written',
  })
}
