import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import type { Clock } from '../../lib/clock.ts'
import type { Connection } from '../connection/connection.ts'
import type { Credential } from '../connection/credential/credential.ts'
import { invalidTime } from '../connection/credential/validity.ts'
import type { ClientObserver } from './client-observer.ts'
import { type ConnectorOptions, createConnector } from './connector.ts'
import type { ApiResult } from './failure.ts'
import { networkFailure } from './network-failure.ts'
import { Pool } from './undici.ts'

/** One HTTP request. */
export interface TransportRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path and query below the server's base path. */
  readonly path: string
  readonly body?: string
  /** Headers in addition to the usual ones, or replacing them; names in lower case. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly contentType?: string
  readonly signal: AbortSignal
}

/** The head of a response, and its body as a stream. */
export interface HttpResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Dispatcher.ResponseData['body']
}

/** Sends HTTP requests to one server. */
export interface Transport {
  /** Sends one request; never follows a redirect. The caller must consume `body`. */
  send(request: TransportRequest): Promise<ApiResult<HttpResponse>>
  /** Why the client certificate is not valid now; undefined if it is valid, or none is used. */
  certificateFault(): Promise<string | undefined>
  /** Closes all connections, including those of open watches. */
  close(): Promise<void>
}

export interface TransportOptions {
  readonly connection: Connection
  readonly userAgent: string
  readonly clock: Pick<Clock, 'now'>
  readonly observer: ClientObserver
  /** Connections that exist already, with the settings of `connection`; see `ConnectorOptions`. */
  readonly opened?: ConnectorOptions['opened']
}

/** Whether requests cannot be read by other machines: they are encrypted, or stay on this machine. */
function isPrivate({ tls, socketPath }: Connection): boolean {
  return tls !== undefined || socketPath !== undefined
}

/**
 * The maximum number of connections, which are opened when needed. Each watch uses one, and writes must not wait for
 * watches.
 */
const CONNECTIONS = 64
const KEEP_ALIVE_MS = 30_000
const REFUSAL_LIMIT = 64 * 1024

/**
 * HTTP/1.1 to one server. After a 401 the credential is read again, and the request is sent once more if the
 * credential or the client certificate may have changed. A new client certificate is used by new connections; the old
 * ones finish their requests.
 */
export function createTransport(options: TransportOptions): Transport {
  const { connection, userAgent, clock, observer, opened } = options
  const pools = createPools(connection, { observer, opened })

  const presentCredential = async (): Promise<Credential> =>
    isPrivate(connection) ? connection.credentials.current() : {}

  /**
   * Whether the next attempt uses another credential or certificate than the one that the server refused. The credential
   * may have been read anew since, for another request that was refused.
   */
  async function hasOther(refused: Credential): Promise<boolean> {
    const present = await presentCredential().catch(() => refused)
    const isOther = !isSameCredential(present, refused) || (await connection.credentials.reject())
    return (await pools.renew()) || isOther
  }

  async function attempt(request: TransportRequest, credential: Credential): Promise<HttpResponse> {
    if (credential.authorization !== undefined) {
      observer.authenticated(connection.credentials.kind, credential.validity)
    }
    const sent = pools.of(credential).request({
      method: request.method,
      path: connection.basePath + request.path,
      headers: requestHeaders(request, credential, userAgent),
      signal: request.signal,
      ...(request.body === undefined ? {} : { body: request.body }),
    })
    const { statusCode, headers, body } = await observed(sent, request.method, options)
    return { status: statusCode, headers, body }
  }

  async function send(request: TransportRequest): Promise<ApiResult<HttpResponse>> {
    try {
      const credential = await presentCredential()
      const answer = await attempt(request, credential)
      if (answer.status !== 401 || !isPrivate(connection)) return { ok: true, value: answer }
      if (!(await hasOther(credential))) return { ok: true, value: answer }
      await answer.body.dump({ limit: REFUSAL_LIMIT })
      return { ok: true, value: await attempt(request, await presentCredential()) }
    } catch (error) {
      return { ok: false, failure: networkFailure(error, connection.origin) }
    }
  }

  const certificateFault = () => faultOfCertificate(() => pools.certificate(), clock.now())
  return { send, certificateFault, close: () => pools.close() }
}

function isSameCredential(one: Credential, other: Credential): boolean {
  return (
    one.authorization === other.authorization && one.certificate?.cert === other.certificate?.cert
  )
}

/** The connections to a server, all with the present client certificate. */
interface Pools {
  /** The connections for requests with a credential. */
  of(credential: Credential): Pool
  /** Opens new ones if the present certificate is not that of the last connection. @returns whether it did */
  renew(): Promise<boolean>
  /** The present certificate, PEM; undefined if there is none, or it cannot be read. */
  certificate(): Promise<string | undefined>
  close(): Promise<void>
}

function createPools(
  connection: Connection,
  options: Omit<ConnectorOptions, 'certificate' | 'onCertificate'>,
): Pools {
  let ofCredential: Credential['certificate']
  let shown: string | undefined
  const onCertificate = (cert: string | undefined): void => {
    shown = cert
  }
  const open = (): Pool =>
    openPool(connection, { ...options, certificate: ofCredential, onCertificate })
  let pool = open()
  /** Pools that were replaced and finish their requests. */
  const replaced = new Set<Pool>()

  function replace(): void {
    const old = pool
    replaced.add(old)
    const forget = (): void => void replaced.delete(old)
    old.close().then(forget, forget)
    pool = open()
  }

  async function certificate(): Promise<string | undefined> {
    if (ofCredential !== undefined) return ofCredential.cert
    return (await connection.tls?.material().catch(() => undefined))?.cert
  }

  return {
    certificate,
    of(credential) {
      if (credential.certificate?.cert !== ofCredential?.cert) {
        ofCredential = credential.certificate
        replace()
      }
      return pool
    },
    async renew() {
      const present = await certificate()
      if (present === undefined || present === shown) return false
      replace()
      return true
    },
    async close() {
      await Promise.all([pool, ...replaced].map((one) => one.destroy()))
    },
  }
}

function openPool(connection: Connection, options: ConnectorOptions): Pool {
  return new Pool(connection.origin, {
    connect: createConnector(connection, options),
    connections: CONNECTIONS,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // The callers' deadlines are the only timers.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
}

/** Reports a request to the observer when the head of its response arrives, or it fails. */
async function observed(
  sent: Promise<Dispatcher.ResponseData>,
  method: string,
  { clock, observer }: Pick<TransportOptions, 'clock' | 'observer'>,
): Promise<Dispatcher.ResponseData> {
  const startedAt = clock.now()
  const report = (code: string): void =>
    observer.requested({ method, code, seconds: (clock.now() - startedAt) / 1_000 })
  try {
    const response = await sent
    report(String(response.statusCode))
    return response
  } catch (error) {
    report('error')
    throw error
  }
}

/** Why the client certificate is not valid now; undefined if it is valid, or none is used. */
async function faultOfCertificate(
  read: () => Promise<string | undefined>,
  now: number,
): Promise<string | undefined> {
  try {
    const cert = await read()
    return cert === undefined ? undefined : invalidTime(cert, now)
  } catch {
    return undefined
  }
}

function requestHeaders(
  { contentType, headers }: TransportRequest,
  { authorization }: Credential,
  userAgent: string,
): Record<string, string | string[]> {
  const given = Object.entries(headers ?? {})
  const own = given.map(([name, value]): [string, string | string[]] => [
    name,
    typeof value === 'string' ? value : [...value],
  ])
  return {
    accept: 'application/json',
    'accept-encoding': 'identity',
    'user-agent': userAgent,
    ...Object.fromEntries(own),
    ...(contentType === undefined ? {} : { 'content-type': contentType }),
    ...(authorization === undefined ? {} : { authorization }),
  }
}
