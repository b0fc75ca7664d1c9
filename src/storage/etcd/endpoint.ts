import { NodeProxyError } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'

/** The address of one member of an etcd cluster. */
export interface Endpoint {
  /** `host:port`, IPv6 hosts in brackets. */
  readonly address: string
  /** Whether to use TLS. */
  readonly secure: boolean
}

/** The schemes of an endpoint; `etcd:` uses TLS when there are TLS files. */
const SCHEMES: ReadonlySet<string> = new Set(['http:', 'https:', 'etcd:'])
const DEFAULT_PORT = '2379'

/**
 * Reads endpoints as operators write them: `https://host:2379`, `http://[::1]:2379`, or `etcd://a:2379,b:2379`.
 * One text may have several, separated by commas; an endpoint without a scheme has that of the one before it.
 * The default port is 2379.
 * @throws NP_STORAGE_ETCD_ENDPOINT for a malformed endpoint, and for an empty list
 */
export function parseEndpoints(texts: readonly string[], hasTls: boolean): readonly Endpoint[] {
  let scheme = 'etcd:'
  const endpoints = texts
    .flatMap((text) => text.split(','))
    .map((text) => {
      const given = text.trim()
      const url = URL.parse(given.includes('://') ? given : `${scheme}//${given}`)
      if (url === null || !isPlain(url)) throw malformed(given)
      scheme = url.protocol
      const secure = scheme === 'https:' || (scheme === 'etcd:' && hasTls)
      return { address: `${url.hostname}:${url.port || portOf(scheme, given)}`, secure }
    })
  if (endpoints.length === 0) throw malformed('')
  return endpoints
}

/** Whether a URL has only a scheme, a host and a port: anything else would be silently ignored. */
function isPlain(url: URL): boolean {
  const { protocol, hostname, username, password, pathname, search, hash } = url
  if (!SCHEMES.has(protocol) || hostname === '') return false
  return username + password + search + hash === '' && (pathname === '' || pathname === '/')
}

/** The port of a URL without one: `URL` drops the default port of its scheme even where it was written. */
function portOf(scheme: string, text: string): string {
  const usual = { 'http:': '80', 'https:': '443' }[scheme]
  return usual !== undefined && text.replace(/\/$/, '').endsWith(`:${usual}`) ? usual : DEFAULT_PORT
}

function malformed(text: string): NodeProxyError {
  return new NodeProxyError('NP_STORAGE_ETCD_ENDPOINT', `not an etcd endpoint: ${quote(text)}`, {
    object: text,
    hint: 'write https://host:2379, or http://host:2379 without TLS',
  })
}
