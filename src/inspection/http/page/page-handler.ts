import type { RequestListener } from 'node:http'
import { COMMON_HEADERS, type Exchange, sendError } from '../answers/send-json.ts'
import {
  type InspectionHandlerParts,
  inspectionHandler,
  notFound,
  refuseMethod,
} from '../inspection-handler.ts'
import { refusedOrigin } from './refused-origin.ts'

/** A file of the page. */
export interface PageFile {
  /** `text/html; charset=utf-8` */
  readonly type: string
  readonly bytes: Uint8Array
}

/** Files by path: `/` and `/assets/…`. */
export type PageFiles = ReadonlyMap<string, PageFile>

/** The page runs its own scripts and styles and reads its own origin, and no other site may frame it. */
const PAGE_HEADERS = {
  ...COMMON_HEADERS,
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
}

/** Answers `/inspection/v1/…` and the files of the page, to readers of this machine that no other site sends. */
export function pageHandler(parts: InspectionHandlerParts, files: PageFiles): RequestListener {
  const inspection = inspectionHandler(parts)
  return (request, response) => {
    const exchange = { request, response }
    const refused = refusedOrigin(request)
    const path = (request.url ?? '').split('?', 1)[0] ?? ''
    const file = files.get(path)
    if (refused !== undefined) return sendError(exchange, refused)
    if (path.startsWith('/inspection/')) return inspection(request, response)
    if (request.method !== 'GET' && request.method !== 'HEAD') return refuseMethod(exchange)
    if (file !== undefined) return sendFile(exchange, file)
    return sendError(exchange, notFound(path, [...files.keys(), '/inspection/v1/status']))
  }
}

function sendFile({ request, response }: Exchange, { type, bytes }: PageFile): void {
  response.writeHead(200, {
    ...PAGE_HEADERS,
    'Content-Type': type,
    'Content-Length': bytes.byteLength,
  })
  response.end(request.method === 'HEAD' ? undefined : bytes)
}
