import type { DatabaseSync } from 'node:sqlite'
import { metaChecksum } from './meta.ts'
import { rowChecksum } from './row-checksum.ts'
import { SCHEMA, TABLES } from './schema.ts'

/**
 * Gives a store of schema 1 the checksums of schema 2, in one transaction: a
 * crash leaves the old store, which is migrated by the next start. The tables
 * are written anew, so that they are exactly those of a new store.
 */
export function migrateFromFirst(database: DatabaseSync): void {
  registerChecksums(database)
  database.exec('BEGIN IMMEDIATE')
  try {
    database.exec(steps.join(';\n'))
    database.exec('COMMIT')
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

const steps: readonly string[] = [
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
