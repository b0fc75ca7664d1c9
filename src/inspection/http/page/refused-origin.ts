import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { NodeProxyError } from '../../../lib/error.ts'
import { quote } from '../../../lib/quote.ts'

/** What browsers write of requests that no other site caused. */
const OWN_SITES = ['same-origin', 'none']

/**
 * Why a request may come from a page of another site in the reader's browser; undefined: it does not. The name of a host
 * may lead here although it is another site's (DNS rebinding), so that only addresses and `localhost` are accepted.
 */
export function refusedOrigin({ headers, socket }: IncomingMessage): NodeProxyError | undefined {
  const host = headers.host ?? ''
  const name = hostName(host)
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

/** Without port and brackets; undefined: it is not written as `name`, `name:port` or `[IPv6]:port`. */
function hostName(host: string): string | undefined {
  const [, v6, name] = /^(?:\[([^\]]*)\]|([^:[\]]+))(?::\d*)?$/.exec(host) ?? []
  return v6 ?? name?.toLowerCase()
}

function isLoopback(name: string): boolean {
  return name === '::1' || (isIP(name) === 4 && name.startsWith('127.'))
}

function refusal(what: string): NodeProxyError {
  return new NodeProxyError('NP_INSPECTION_ORIGIN', what, {
    hint: 'open http://127.0.0.1:PORT/ itself, with the port of inspection.pageBindAddress',
  })
}
