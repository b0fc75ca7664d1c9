import type { RequestListener } from 'node:http'
import type { PageFiles } from '../../../page/serving/page-files.ts'
import { sendPageFile } from '../../../page/serving/send-page-file.ts'
import { sendError } from '../answers/send-json.ts'
import {
  type InspectionHandlerParts,
  inspectionHandler,
  notFound,
  refuseMethod,
} from '../inspection-handler.ts'
import { refusedOrigin } from './refused-origin.ts'

/** Answers `/inspection/v1/…` and the files of the page, to readers of this machine that no other site sends. */
export function pageHandler(parts: InspectionHandlerParts, pages: PageFiles): RequestListener {
  const inspection = inspectionHandler(parts)
  return (request, response) => {
    const exchange = { request, response }
    const refused = refusedOrigin(request)
    const path = (request.url ?? '').split('?', 1)[0] ?? ''
    if (refused !== undefined) return sendError(exchange, refused)
    if (path.startsWith('/inspection/')) return inspection(request, response)
    if (request.method !== 'GET' && request.method !== 'HEAD') return refuseMethod(exchange)
    if (sendPageFile(exchange, pages, path.slice(1))) return undefined
    return sendError(exchange, notFound(path, ['/', '/inspection/v1/status']))
  }
}
