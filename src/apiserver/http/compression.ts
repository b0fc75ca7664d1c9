import type { ServerResponse } from 'node:http'
import { pipeline, type Writable } from 'node:stream'
import { createGzip } from 'node:zlib'
import { parseAccept } from '../encoding/media-type.ts'

/** Whether an Accept-Encoding header names gzip. Without the header, or with only `*`, the answer is not compressed. */
export function acceptsGzip(header = ''): boolean {
  if (header === '') return false
  const gzip = parseAccept(header).find(({ type }) => type === 'gzip')
  return gzip !== undefined && Number(gzip.parameters.get('q') ?? 1) > 0
}

/**
 * A stream that compresses what is written to it into the body of the answer. zlib's threads do
 * that at level 1, the fastest one.
 */
export function gzipInto(response: ServerResponse): Writable {
  const gzip = createGzip({ level: 1 })
  pipeline(gzip, response, () => undefined)
  return gzip
}
