import type { DatabaseSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'

/** The single row of the table `meta`, without its checksum. */
export interface Meta {
  /** The revision up to which history was removed. */
  readonly oldest: number
  /** The revision of the `RevisionPoint` of the store. */
  readonly lineRevision: number
  /** The time of that point: milliseconds since the Unix epoch. */
  readonly lineTime: number
}

/** Reads the row; NaN where it is missing. */
export function readMeta(database: DatabaseSync): Meta {
  const row = metaRow(database)
  return {
    oldest: Number(row['oldest']),
    lineRevision: Number(row['line_revision']),
    lineTime: Number(row['line_time']),
  }
}

/** Changes some columns and the checksum, inside the transaction of the caller if there is one. */
export function changeMeta(database: DatabaseSync, change: Partial<Meta>): void {
  const { oldest, lineRevision, lineTime } = { ...readMeta(database), ...change }
  const checksum = metaChecksum({ oldest, lineRevision, lineTime })
  database
    .prepare('UPDATE meta SET oldest = ?, line_revision = ?, line_time = ?, checksum = ?')
    .run(oldest, lineRevision, lineTime, checksum)
}

/** CRC-32 of the columns. */
export function metaChecksum({ oldest, lineRevision, lineTime }: Meta): number {
  return crc32(`${oldest} ${lineRevision} ${lineTime}`)
}

/** Whether the checksum of the row is right; true for schema 1, which has none. */
export function isMetaIntact(database: DatabaseSync): boolean {
  const checksum = metaRow(database)['checksum']
  return checksum === undefined || checksum === metaChecksum(readMeta(database))
}

function metaRow(database: DatabaseSync): Record<string, unknown> {
  return database.prepare('SELECT * FROM meta').get() ?? {}
}
