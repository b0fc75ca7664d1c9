import type { IncomingMessage, ServerResponse } from 'node:http'
import type { NodeProxyError } from '../../lib/error.ts'

/** Status codes by error code; every other error is 500. */
const CODES: Readonly<Record<string, number>> = {
  NP_INSPECTION_REFUSED: 400,
  NP_INSPECTION_ORIGIN: 403,
  NP_INSPECTION_NOT_FOUND: 404,
  NP_INSPECTION_METHOD: 405,
  NP_INSPECTION_BUSY: 503,
}

/** Headers of every answer; they keep its content from caches and from other sites. */
export const COMMON_HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
}

/** Answers with a JSON text. */
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

/** Answers with `{"code":"NP_…","message":"…"}`; the message has the remedy. */
export function sendError(
  exchange: Exchange,
  { code, message, hint }: NodeProxyError,
  options: { status?: number; headers?: Readonly<Record<string, string>> } = {},
): void {
  const text = hint === undefined ? message : `${message}; ${hint}`
  const status = options.status ?? CODES[code] ?? 500
  sendJson(exchange, JSON.stringify({ code, message: text }), { ...options, status })
}

/** A request and its response. */
export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}
