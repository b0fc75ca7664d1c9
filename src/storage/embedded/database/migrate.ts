import type { DatabaseSync } from 'node:sqlite'
import { metaChecksum } from './meta.ts'
import { rowChecksum } from './row-checksum.ts'
import { SCHEMA, TABLES } from './schema.ts'

/**
 * Migrates a database from schema 1 to schema 2, which has checksums, in one transaction: after a
 * crash the old one is there, and the next start migrates it. The tables
 * are created anew, so that they are exactly those of a new store.
 */
export function migrateFromFirst(database: DatabaseSync): void {
  registerChecksums(database)
  database.exec('BEGIN IMMEDIATE')
  try {
    database.exec(STEPS.join(';\n'))
    database.exec('COMMIT')
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

const STEPS: readonly string[] = [
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
