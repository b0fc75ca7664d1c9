import dns from 'node:dns'
import { vi } from 'vitest'
import { type Arrival, answerJson } from '../../../client/testing/scripted-server.ts'
import { certificates } from '../../../client/testing/test-certificates.ts'
import { NodeProxyError } from '../../../lib/error.ts'

/** One way in which an API server, or what is in front of it, fails. */
export interface FailureCase {
  readonly title: string
  readonly reason: string
  /** Host of the URL that the daemon is given; 127.0.0.1 unless it is a name. */
  readonly host?: string
  /** No server listens. */
  readonly absent?: true
  /** What the server does with each request; `none`: it never answers. */
  readonly answer?: ((arrival: Arrival) => void) | 'none'
  /** Authorities that the daemon trusts meanwhile. */
  readonly ca?: string
  /** What obtaining a credential throws meanwhile. */
  readonly credential?: NodeProxyError
  /** Begins a failure outside of the server and the connection; the returned function ends it. */
  readonly begin?: () => () => void
}

/** Those that docs/operate/troubleshooting.md shows. */
export const DOCUMENTED: readonly FailureCase[] = [
  { title: 'Connection refused', reason: 'refused', absent: true },
  {
    title: 'The name of the server cannot be resolved',
    reason: 'dns',
    host: 'api.test',
    begin: () => resolveName(false),
  },
  { title: 'The wrong CA', reason: 'tls', ca: certificates.named.cert },
  {
    title: '401: the credential is not valid',
    reason: 'unauthorized',
    answer: (arrival) => answerStatusOf(arrival, 401, 'Unauthorized', 'Unauthorized'),
  },
  { title: '403: a permission is missing', reason: 'forbidden', answer: forbid },
  {
    title: '503: the API server is not ready',
    reason: 'server_error',
    answer: (arrival) =>
      answerStatusOf(arrival, 503, 'ServiceUnavailable', 'apiserver is shutting down'),
  },
  {
    title: 'A redirect',
    reason: 'redirect',
    answer: ({ response }) => {
      response.writeHead(302, { location: 'https://login.example.com/start?session=1' }).end()
    },
  },
  {
    title: 'The API server accepts connections and never answers',
    reason: 'timeout',
    answer: 'none',
  },
  {
    title: 'Something that is no API server',
    reason: 'not_an_api_server',
    answer: ({ response }) => {
      response
        .writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
        .end('<html>hello</html>')
    },
  },
]

/** Failures that are only tested, and not shown in the documentation. */
export const UNDOCUMENTED: readonly FailureCase[] = [
  {
    title: 'A token file that cannot be read',
    reason: 'credential',
    credential: new NodeProxyError('NP_CLIENT_CREDENTIAL', 'the token file "/t" cannot be read'),
  },
  {
    title: 'A web server that does not know the path',
    reason: 'not_an_api_server',
    answer: ({ response }) => response.writeHead(404).end('404 page not found'),
  },
  {
    title: 'Too many requests',
    reason: 'throttled',
    answer: (arrival) => answerStatusOf(arrival, 429, 'TooManyRequests', 'slow down'),
  },
  {
    title: 'A list without a version',
    reason: 'not_an_api_server',
    answer: ({ response }) => answerJson(response, 200, { hello: 'world' }),
  },
  {
    title: 'A server that closes each connection',
    reason: 'closed',
    answer: ({ request }) => request.socket.destroy(),
  },
]

function forbid(arrival: Arrival): void {
  const { pathname, searchParams } = arrival.url
  const [, group, resource, name] =
    /^\/(?:api|apis\/([^/]+))\/v\w+\/(\w+)(?:\/(.+))?/.exec(pathname) ?? []
  const verb = name === undefined ? (searchParams.has('watch') ? 'watch' : 'list') : 'get'
  const user = 'User "system:serviceaccount:kube-system:node-proxy"'
  const what =
    resource === undefined
      ? `cannot get path "${pathname}"`
      : `cannot ${verb} resource "${resource}" in API group "${group ?? ''}" at the cluster scope`
  answerStatusOf(
    arrival,
    403,
    'Forbidden',
    `${resource ?? 'forbidden'} is forbidden: ${user} ${what}`,
  )
}

function answerStatusOf(
  { response }: Arrival,
  code: number,
  reason: string,
  message: string,
): void {
  answerJson(response, code, {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    code,
    reason,
    message,
  })
}

/** Answers `api.test` as a name server would, or as one that does not know it. */
export function resolveName(known: boolean): () => void {
  const spy = vi.spyOn(dns, 'lookup')
  const lookup = (name: string, _: unknown, done: (...answer: unknown[]) => void): void => {
    const error = Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), { code: 'ENOTFOUND' })
    const address = { address: '127.0.0.1', family: 4 }
    setImmediate(() => (known ? done(null, [address]) : done(error)))
  }
  spy.mockImplementation(lookup as unknown as typeof dns.lookup)
  return () => spy.mockRestore()
}
