import type { IncomingMessage, ServerResponse } from 'node:http'
import type { NodeProxyError } from '../../lib/error.ts'

/** A request and its response. */
export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** HTTP status codes by error code. Every other error code has status 500. */
const STATUS_OF: Readonly<Record<string, number>> = {
  NP_INSPECTION_REFUSED: 400,
  NP_INSPECTION_ORIGIN: 403,
  NP_INSPECTION_NOT_FOUND: 404,
  NP_INSPECTION_METHOD: 405,
  NP_INSPECTION_BUSY: 503,
}

/** Headers of every response. They prevent caches from storing its content, and other sites from reading it. */
export const COMMON_HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
}

/** Sends a JSON text and a line feed; only the headers if the method is HEAD. Status 200 unless given. */
export function sendJson(
  { request, response }: Exchange,
  json: string,
  {
    status = 200,
    headers = {},
  }: { status?: number; headers?: Readonly<Record<string, string>> } = {},
): void {
  const body = `${json}\n`
  response.writeHead(status, {
    ...COMMON_HEADERS,
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    ...headers,
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}

/**
 * Sends an error as `{"code":"NP_…","message":"…"}`. The message ends with the hint of the error, if it has one. The
 * status follows from the error code unless given.
 */
export function sendError(
  exchange: Exchange,
  { code, message, hint }: NodeProxyError,
  options: { status?: number; headers?: Readonly<Record<string, string>> } = {},
): void {
  const text = hint === undefined ? message : `${message}; ${hint}`
  const status = options.status ?? STATUS_OF[code] ?? 500
  sendJson(exchange, JSON.stringify({ code, message: text }), { ...options, status })
}
