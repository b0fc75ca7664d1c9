import type { IncomingMessage, RequestListener } from 'node:http'
import { isIP } from 'node:net'
import { NodeProxyError } from '../../lib/error.ts'
import { splitHostPort } from '../../lib/ip.ts'
import { quote } from '../../lib/quote.ts'
import type { PageFiles } from '../../page/serving/page-files.ts'
import { sendPageFile } from '../../page/serving/send-page-file.ts'
import {
  type InspectionHandlerParts,
  inspectionHandler,
  notFound,
  refuseMethod,
} from './inspection-handler.ts'
import { sendError } from './send-json.ts'

/** The values of Sec-Fetch-Site for requests that no other site caused. */
const OWN_SITES = ['same-origin', 'none']

/** Answers `/inspection/v1/…` and the files of the page. Refuses requests that another site makes a browser send. */
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

/**
 * Why a request may come from a page of another site in the reader's browser; undefined: it does not. Another site may
 * let its host name resolve to this address (DNS rebinding), so only addresses and `localhost` are accepted as Host.
 */
function refusedOrigin({ headers, socket }: IncomingMessage): NodeProxyError | undefined {
  const host = headers.host ?? ''
  const name = splitHostPort(host)?.host.toLowerCase()
  const local = [socket.localAddress?.replace('::ffff:', ''), 'localhost']
  if (name === undefined || !(local.includes(name) || isLoopback(name))) {
    return refusal(`Host ${quote(host)} is not an address of this listener`)
  }
  const site = headers['sec-fetch-site'] ?? 'none'
  if (!OWN_SITES.includes(site)) {
    return refusal(`the request comes from another site (Sec-Fetch-Site ${quote(site)})`)
  }
  const { origin } = headers
  if (origin === undefined || origin === `http://${host}`) return undefined
  return refusal(`the request comes from another site (Origin ${quote(origin)})`)
}

function isLoopback(name: string): boolean {
  return name === '::1' || (isIP(name) === 4 && name.startsWith('127.'))
}

function refusal(what: string): NodeProxyError {
  return new NodeProxyError('NP_INSPECTION_ORIGIN', what, {
    hint: 'open http://127.0.0.1:PORT/ itself, with the port of inspection.pageBindAddress',
  })
}
