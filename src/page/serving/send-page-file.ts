import type { IncomingMessage, ServerResponse } from 'node:http'
import type { PageFiles } from './page-files.ts'

/** A request and its response. */
export interface FileExchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** A browser may cache files, but must revalidate them at each use. */
const HEADERS = {
  'Cache-Control': 'no-cache',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
}

/**
 * Answers a GET or HEAD request for a file of the page. `path`: below the page, without a query.
 * @returns false if there is no such file; then nothing is answered
 */
export function sendPageFile(
  { request, response }: FileExchange,
  { files, policy }: PageFiles,
  path: string,
): boolean {
  const file = files.get(path)
  if (file === undefined) return false
  const { type, bytes, etag } = file
  const headers = { ...HEADERS, 'Content-Security-Policy': policy, ETag: etag }
  if (request.headers['if-none-match'] === etag) {
    response.writeHead(304, headers).end()
    return true
  }
  response.writeHead(200, {
    ...headers,
    'Content-Type': type,
    'Content-Length': bytes.byteLength,
  })
  response.end(request.method === 'HEAD' ? undefined : bytes)
  return true
}
