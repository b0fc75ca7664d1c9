import { crc32 } from 'node:zlib'

/** A row of the log, as it is written or read. */
export interface LogRow {
  readonly revision: number
  readonly key: string
  /** The revision that created the entry; 0: the row is a deletion. */
  readonly created: number
  /** Null: the row is a deletion, or its value is damaged. */
  readonly value: Uint8Array | null
}

/**
 * CRC-32 of all columns of a row. SQLite has no checksums of pages, and a
 * flipped bit inside a JSON string is still valid JSON: without a checksum the
 * server would serve a value that no client wrote.
 */
export function rowChecksum({ revision, key, created, value }: LogRow): number {
  return crc32(value ?? '', crc32(`${revision} ${created} ${key}`))
}

/** Whether the checksum of a row is right; true for schema 1, which has none. */
export function isIntact(row: Record<string, unknown>): boolean {
  const checksum = row['checksum']
  return checksum === undefined || checksum === rowChecksum(logRow(row))
}

/** The columns of a row; a value that is not a blob, because it is damaged, is null. */
export function logRow(row: Record<string, unknown>): LogRow {
  const value = row['value']
  return {
    revision: Number(row['revision']),
    key: String(row['key']),
    created: Number(row['created']),
    value: value instanceof Uint8Array ? value : null,
  }
}
