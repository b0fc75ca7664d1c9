import { createHash } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { readMeta } from './meta.ts'
import { logRow } from './row-checksum.ts'

/** The table that only a backup has. */
export const SEAL_TABLE = 'seal'

/**
 * Whether the content of a backup matches the checksum in its seal; `none`: an older version wrote the backup
 * without a seal.
 */
export type SealVerdict = 'intact' | 'differs' | 'none'

/**
 * Writes the SHA-256 of the whole content into a backup: of every row of the log, in the order of
 * writing, and of `meta`. The bytes of the file are not covered, because SQLite
 * may lay out the same rows differently.
 */
export function writeSeal(database: DatabaseSync): void {
  database.exec(
    `CREATE TABLE ${SEAL_TABLE} (one INTEGER PRIMARY KEY CHECK (one = 1), sha256 TEXT NOT NULL) STRICT`,
  )
  database.prepare(`INSERT INTO ${SEAL_TABLE} VALUES (1, ?)`).run(contentDigest(database))
}

/** Compares the content of a backup with its seal. */
export function checkSeal(database: DatabaseSync): SealVerdict {
  const tables = database.prepare('SELECT name FROM sqlite_schema WHERE name = ?').all(SEAL_TABLE)
  if (tables.length === 0) return 'none'
  const row = database.prepare(`SELECT sha256 FROM ${SEAL_TABLE}`).get()
  return row?.['sha256'] === contentDigest(database) ? 'intact' : 'differs'
}

/** Removes the seal; call it before the first write, which makes the seal wrong. */
export function removeSeal(database: DatabaseSync): void {
  database.exec(`DROP TABLE IF EXISTS ${SEAL_TABLE}`)
}

function contentDigest(database: DatabaseSync): string {
  const hash = createHash('sha256')
  for (const row of database.prepare('SELECT * FROM log ORDER BY id').iterate()) {
    const { revision, key, created, value } = logRow(row)
    const head = [row['id'], revision, created, Buffer.byteLength(key), key, value?.length ?? -1]
    hash.update(`${head.join(' ')}\n`)
    if (value !== null) hash.update(value)
  }
  const { oldest, lineRevision, lineTime } = readMeta(database)
  return hash.update(`${oldest} ${lineRevision} ${lineTime}`).digest('hex')
}
