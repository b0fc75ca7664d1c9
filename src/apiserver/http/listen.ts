import { createServer as createHttpServer, type Server, type ServerOptions } from 'node:http'
import { createServer as createHttpsServer, Server as HttpsServer } from 'node:https'
import { type AddressInfo, Server as NetServer } from 'node:net'
import { NodeProxyError } from '../../lib/error.ts'
import { httpArrival } from '../../lib/http-arrival.ts'
import { type HandlerOptions, handleRequest } from './handle-request.ts'
import type { HttpContext } from './http-context.ts'

export interface ListenOptions {
  /** Default 127.0.0.1. */
  readonly host?: string
  /** Default 0: any free port. */
  readonly port?: number
  /** Path of a Unix socket, instead of host and port. */
  readonly socketPath?: string
  /** HTTPS when given. */
  readonly tls?: Certificate
}

/** PEM. */
export interface Certificate {
  readonly cert: string
  readonly key: string
}

export interface Listening {
  /** Of a Unix socket `http://localhost`. */
  readonly url: string
  /** Of a Unix socket 0. */
  readonly port: number
  /** Serves new connections with another certificate; those that are open stay. Of HTTPS only. */
  present(certificate: Certificate): void
  /** Ends watches cleanly, lets short requests finish and closes the socket. */
  close(): Promise<void>
}

/** Serves on one address. */
export async function listen(handler: HandlerOptions, options: ListenOptions): Promise<Listening> {
  const { host = '127.0.0.1', port = 0, socketPath, tls } = options
  const server = createServer(handler, tls)
  await new Promise<void>((resolve, reject) => {
    const address = socketPath ?? `${host}:${port}`
    const fail = (cause: Error): void => reject(cannotListen(address, cause))
    server.once('error', fail)
    server.listen(socketPath === undefined ? { port, host } : { path: socketPath }, () => {
      server.off('error', fail)
      resolve()
    })
  })
  return {
    ...reachedAt(server.address(), tls === undefined ? 'http' : 'https'),
    present: (certificate) => present(server, certificate),
    close: () => closeServer(server, handler.context),
  }
}

function reachedAt(
  address: AddressInfo | string | null,
  scheme: 'http' | 'https',
): Pick<Listening, 'url' | 'port'> {
  if (address === null || typeof address === 'string') return { url: 'http://localhost', port: 0 }
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address
  return { url: `${scheme}://${host}:${address.port}`, port: address.port }
}

/** Kubernetes clients give up after as long; Node's own default is two minutes. */
const HANDSHAKE_MS = 10_000

function createServer(handler: HandlerOptions, tls: ListenOptions['tls']): Server {
  const { limits } = handler.context
  const http: ServerOptions = {
    ...httpArrival(limits.requestTimeout),
    maxHeaderSize: limits.headerBytes,
    keepAliveTimeout: 90_000,
    noDelay: true,
  }
  const listener = handleRequest.bind(undefined, handler)
  const serve = (...exchange: Parameters<typeof listener>): void => void listener(...exchange)
  if (tls === undefined) return createHttpServer(http, serve)
  const handshakeTimeout = Math.min(HANDSHAKE_MS, limits.requestTimeout)
  return createHttpsServer({ ...http, ...tls, handshakeTimeout, minVersion: 'TLSv1.2' }, serve)
}

function present(server: Server, certificate: Certificate): void {
  if (!(server instanceof HttpsServer)) throw new TypeError('plain HTTP has no certificate')
  server.setSecureContext(certificate)
}

/** How long requests that run may take to finish when the server closes. */
const CLOSE_MS = 2000

/**
 * How long a connection without a request stays: the client's next one may be on its way,
 * and would be lost. Its answer has Connection: close.
 */
const LINGER_MS = 250

function closeServer(server: Server, { clock, watches }: HttpContext): Promise<void> {
  watches.endAll()
  return new Promise((resolve) => {
    const cancelLinger = clock.after(LINGER_MS, () => server.closeIdleConnections())
    const cancel = clock.after(CLOSE_MS, () => server.closeAllConnections())
    stopListening(server, () => {
      cancelLinger()
      cancel()
      server.close(() => resolve())
    })
  })
}

/** As `server.close`, which would break off connections without a request at once. */
function stopListening(server: Server, onClosed: () => void): void {
  NetServer.prototype.close.call(server, onClosed)
}

function cannotListen(address: string, cause: Error): NodeProxyError {
  return new NodeProxyError(
    'NP_APISERVER_LISTEN',
    `cannot listen on ${address}: ${cause.message}`,
    {
      cause,
      hint: 'choose another address or port, or stop what uses this one',
    },
  )
}
