import { crc32 } from 'node:zlib'

/** A row of the log, as it is written or read. */
export interface LogRow {
  readonly revision: number
  readonly key: string
  /** 0: the row is a deletion. */
  readonly created: number
  readonly value: Uint8Array | null
}

/**
 * The checksum that a row carries. SQLite keeps none of its pages, and one
 * flipped bit in the text of a JSON string is still valid JSON: without it the
 * server would serve something that no client wrote.
 */
export function rowChecksum({ revision, key, created, value }: LogRow): number {
  return crc32(value ?? '', crc32(`${revision} ${created} ${key}`))
}

/** Whether a row that was read is the one that was written; a row of schema 1 has no checksum. */
export function isIntact(row: Record<string, unknown>): boolean {
  const checksum = row['checksum']
  return checksum === undefined || checksum === rowChecksum(logRow(row))
}

/** The columns of a row; a value that is no blob any more is empty. */
export function logRow(row: Record<string, unknown>): LogRow {
  const value = row['value']
  return {
    revision: Number(row['revision']),
    key: String(row['key']),
    created: Number(row['created']),
    value: value instanceof Uint8Array ? value : null,
  }
}
