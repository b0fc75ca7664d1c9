import type { DatabaseSync } from 'node:sqlite'
import { messageOf, NodeProxyError } from '../../../lib/error.ts'
import { quote } from '../../../lib/quote.ts'
import { isMetaIntact } from './meta.ts'
import { SEAL_TABLE } from './seal.ts'

/** Version of the tables below, kept in SQLite's `user_version`. 1 had no checksums. */
export const SCHEMA = 2

/** The schemas that can be read; a database with an older one than `SCHEMA` is migrated when it is opened for writing. */
const READABLE: readonly number[] = [1, SCHEMA]

/**
 * The table `log` has one row for each change: the present state is the newest row of each key, so no second
 * table can disagree. `created` is 0 where the key was deleted. `by_key` answers lists without reading a value.
 * `checksum` covers the whole row (`row-checksum.ts`).
 *
 * `meta` holds what does not follow from the rows: `oldest`, the revision up to which history is forgotten
 * (after a restore also the newest); `line_revision` and `line_time`, the `RevisionPoint`.
 */
export const TABLES: readonly string[] = [
  `CREATE TABLE log (
    id INTEGER PRIMARY KEY,
    revision INTEGER NOT NULL,
    key TEXT NOT NULL,
    created INTEGER NOT NULL,
    value BLOB,
    checksum INTEGER NOT NULL
  ) STRICT`,
  'CREATE UNIQUE INDEX by_key ON log (key, revision, created)',
  'CREATE INDEX by_revision ON log (revision)',
  `CREATE TABLE meta (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    oldest INTEGER NOT NULL,
    line_revision INTEGER NOT NULL,
    line_time INTEGER NOT NULL,
    checksum INTEGER NOT NULL
  ) STRICT`,
]

/** Whether the database has no tables yet. */
export function isEmpty(database: DatabaseSync): boolean {
  return schemaVersion(database) === 0 && definitions(database).length === 0
}

/** SQLite's `user_version`; 0 in a new database. */
export function schemaVersion(database: DatabaseSync): number {
  return Number(database.prepare('PRAGMA user_version').get()?.['user_version'])
}

/**
 * Refuses a newer schema, and the database of another program, recognized by the names of its tables.
 * @throws NP_STORAGE_SCHEMA
 */
export function refuseOther(database: DatabaseSync, file: string): void {
  const version = schemaVersion(database)
  const names = definitions(database).map(({ name }) => name)
  const isOurs = ['log', 'meta'].every((name) => names.includes(name))
  if (READABLE.includes(version) && isOurs) return
  if (version === 0 || READABLE.includes(version)) throw notAStore(file)
  throw new NodeProxyError(
    'NP_STORAGE_SCHEMA',
    `the store has schema ${version}, this program knows ${READABLE.join(' and ')}`,
    {
      object: file,
      hint: 'run the version of the program that wrote it, or a newer one; if there is none, the file is damaged: restore a backup',
    },
  )
}

/** Whether the tables are exactly those that this program creates; true for schema 1, whose definitions are not known. */
function hasOurTables(database: DatabaseSync): boolean {
  if (schemaVersion(database) !== SCHEMA) return true
  const found = definitions(database)
    .filter(({ name }) => name !== SEAL_TABLE)
    .map(({ sql }) => oneLine(sql))
  return found.toSorted().join('\n') === TABLES.map(oneLine).toSorted().join('\n')
}

function definitions(database: DatabaseSync) {
  const rows = database
    .prepare("SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'")
    .all()
  return rows.map(({ name, sql }) => ({ name: String(name), sql: String(sql) }))
}

function oneLine(sql: string): string {
  return sql.replaceAll(/\s+/g, ' ')
}

function notAStore(file: string): NodeProxyError {
  return new NodeProxyError('NP_STORAGE_SCHEMA', 'the database is not a store of this program', {
    object: file,
    hint: 'name a data directory or a backup that this program has written',
  })
}

/** How many problems SQLite reports for one database. */
const MAX_PROBLEMS = 100

/**
 * What is damaged in the structure of a database: pages, indexes, tables
 * and the row of revision counters. Does not check the rows of the log.
 */
export function structuralFaults(database: DatabaseSync): readonly string[] {
  try {
    const verdicts = database.prepare(`PRAGMA integrity_check(${MAX_PROBLEMS})`).all()
    const problems = verdicts
      .map((row) => String(row['integrity_check']))
      .filter((one) => one !== 'ok')
    if (problems.length > 0) return problems.flatMap((one) => one.split('\n'))
    if (!hasOurTables(database)) return ['its tables are not those that this program makes']
    return isMetaIntact(database) ? [] : ['the row of revision counters (meta) is damaged']
  } catch (error) {
    return [messageOf(error)]
  }
}

/** @throws NP_STORAGE_CORRUPT when the structure is damaged */
export function refuseDamagedStructure(database: DatabaseSync, file: string): void {
  const [first, ...more] = structuralFaults(database)
  if (first === undefined) return
  const others = more.length === 0 ? '' : ` (and ${more.length} more)`
  throw new NodeProxyError('NP_STORAGE_CORRUPT', `${quote(file)} is damaged: ${first}${others}`, {
    object: file,
    hint: 'keep the file, restore the latest backup; orch-server check names everything that is damaged',
  })
}
