import type { DatabaseSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'

/** What the rows of the log do not contain; see `schema.ts`. */
export interface Meta {
  readonly oldest: number
  readonly lineRevision: number
  readonly lineTime: number
}

export function readMeta(database: DatabaseSync): Meta {
  const row = metaRow(database)
  return {
    oldest: Number(row['oldest']),
    lineRevision: Number(row['line_revision']),
    lineTime: Number(row['line_time']),
  }
}

/** Changes some of it, inside the transaction of the caller if there is one. */
export function changeMeta(database: DatabaseSync, change: Partial<Meta>): void {
  const { oldest, lineRevision, lineTime } = { ...readMeta(database), ...change }
  const checksum = metaChecksum({ oldest, lineRevision, lineTime })
  database
    .prepare('UPDATE meta SET oldest = ?, line_revision = ?, line_time = ?, checksum = ?')
    .run(oldest, lineRevision, lineTime, checksum)
}

export function metaChecksum({ oldest, lineRevision, lineTime }: Meta): number {
  return crc32(`${oldest} ${lineRevision} ${lineTime}`)
}

/** Whether the row is there and as it was written; that of schema 1 has no checksum. */
export function isMetaIntact(database: DatabaseSync): boolean {
  const checksum = metaRow(database)['checksum']
  return checksum === undefined || checksum === metaChecksum(readMeta(database))
}

function metaRow(database: DatabaseSync): Record<string, unknown> {
  return database.prepare('SELECT * FROM meta').get() ?? {}
}
