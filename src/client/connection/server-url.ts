import { NodeProxyError } from '../../lib/error.ts'

/** The address of an API server. */
export interface ServerUrl {
  /** `https://host:port`. */
  readonly origin: string
  /** Path without a trailing slash; usually empty. */
  readonly basePath: string
  /** Whether the scheme is https. */
  readonly secure: boolean
}

/**
 * Reads the address of an API server: `https://host:6443`, `http://host:8080/prefix`,
 * or `host:8080`, which means plain HTTP. `where` is the flag or field, for the error.
 * @throws NP_CLIENT_SERVER_URL
 */
export function parseServerUrl(text: string, where: string): ServerUrl {
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`)
  if (url === null) throw refusal(where, 'is not a URL')
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw refusal(where, `has the scheme ${JSON.stringify(url.protocol)}`)
  }
  if (url.username !== '' || url.password !== '')
    throw refusal(where, 'contains a user or password')
  if (url.search !== '' || url.hash !== '') throw refusal(where, 'contains a query or fragment')
  return {
    origin: url.origin,
    basePath: url.pathname.replace(/\/+$/, ''),
    secure: url.protocol === 'https:',
  }
}

function refusal(where: string, what: string): NodeProxyError {
  return new NodeProxyError('NP_CLIENT_SERVER_URL', `${where} ${what}`, {
    object: where,
    hint: 'write it as https://host:port or http://host:port',
  })
}
