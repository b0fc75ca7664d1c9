import type { RequestListener } from 'node:http'
import { NodeProxyError } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'
import { inspectionRoutes, type RouteSources } from './inspection-routes.ts'
import { type Exchange, sendError } from './send-json.ts'

/** What the handler uses. */
export interface InspectionHandlerParts extends RouteSources {
  /** Receives errors that are bugs; the client gets NP_INSPECTION_FAILED. */
  readonly onError: (error: unknown) => void
}

/** Answers GET and HEAD of `/inspection/v1/…`: see the table in ../README.md. No request changes anything. */
export function inspectionHandler({
  onError,
  ...sources
}: InspectionHandlerParts): RequestListener {
  const routes = inspectionRoutes(sources)
  const answer = async (exchange: Exchange): Promise<void> => {
    const { method, url = '' } = exchange.request
    const [path = '', search] = url.split('?', 2)
    const route = routes.get(path)
    if (method !== 'GET' && method !== 'HEAD') refuseMethod(exchange)
    else if (route === undefined) sendError(exchange, notFound(path, [...routes.keys()]))
    else await route(exchange, new URLSearchParams(search))
  }
  return (request, response) => {
    const exchange = { request, response }
    answer(exchange).catch((error: unknown) => fail(exchange, error, onError))
  }
}

/** Answers 405. */
export function refuseMethod(exchange: Exchange): void {
  const method = quote(exchange.request.method)
  const error = new NodeProxyError('NP_INSPECTION_METHOD', `method ${method} is not served`, {
    hint: 'use GET or HEAD',
  })
  sendError(exchange, error, { headers: { Allow: 'GET, HEAD' } })
}

/** The error for an unknown path. */
export function notFound(path: string, known: readonly string[]): NodeProxyError {
  return new NodeProxyError('NP_INSPECTION_NOT_FOUND', `path ${quote(path)} is not served`, {
    hint: `use one of: ${known.join(' ')}`,
  })
}

/** Answers with an error, or cuts the connection if the answer has already begun. */
function fail(exchange: Exchange, error: unknown, onError: (error: unknown) => void): void {
  const isRefusal = error instanceof NodeProxyError
  if (!isRefusal) onError(error)
  if (exchange.response.headersSent) return void exchange.response.destroy()
  const internal = () =>
    new NodeProxyError('NP_INSPECTION_FAILED', 'the answer could not be made', {
      hint: 'see the log of node-proxy on this node',
    })
  sendError(exchange, isRefusal ? error : internal())
}
