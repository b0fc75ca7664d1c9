import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http'
import { createServer as createHttpsServer, Server as HttpsServer } from 'node:https'
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net'
import type { SecureContextOptions } from 'node:tls'
import { NodeProxyError } from '../../lib/error.ts'
import { httpArrival } from '../../lib/http/arrival.ts'
import {
  createServer as createHttpServer,
  ServerResponse as HttpResponse,
} from '../../lib/http/node-http.ts'
import { hostPort } from '../../lib/ip.ts'
import { CertifiedConnections } from '../../lib/tls/certified-connections.ts'
import { StatusError } from '../status/status.ts'
import type { HttpContext } from './create-http-context.ts'
import { type HandlerOptions, handleRequest } from './handle-request.ts'
import { parseRequestTarget } from './request-target.ts'

/** Protocols that a client may request of a connection. */
const PROTOCOLS = new Set(['websocket', 'spdy/3.1'])

/** Where to listen. */
export interface ListenOptions {
  /** Default 127.0.0.1. */
  readonly host?: string
  /** Default 0: any free port. */
  readonly port?: number
  /** Path of a Unix socket, instead of host and port. */
  readonly socketPath?: string
  /** HTTPS when given. */
  readonly tls?: Certificate
  /** PEM: clients may present a certificate that one of these authorities signed. For HTTPS only. */
  readonly clientAuthorities?: string
}

/** A certificate chain and its private key. */
export interface Certificate {
  /** PEM, the server's own certificate first. */
  readonly cert: string
  /** PEM. */
  readonly key: string
}

/** One address on which the server listens. */
export interface Listener {
  /** The URL; for a Unix socket `http://localhost`. */
  readonly url: string
  /** The port; for a Unix socket 0. */
  readonly port: number
  /**
   * Serves new connections with another certificate; open connections keep the one they have.
   * @throws TypeError for a listener without TLS
   */
  replaceCertificate(certificate: Certificate): void
  /**
   * Accepts client certificates of other authorities, PEM, and ends the connections of clients whose
   * certificate none of them signed.
   * @throws TypeError for a listener that was opened without client authorities
   */
  replaceClientAuthorities(authorities: string): void
  /** Ends the watches, gives running requests two seconds to finish and closes the socket. */
  close(): Promise<void>
}

/**
 * Serves on one address.
 * @throws NP_APISERVER_LISTEN when the address is in use or cannot be used
 */
export async function listen(handler: HandlerOptions, options: ListenOptions): Promise<Listener> {
  const { host = '127.0.0.1', port = 0, socketPath, tls, clientAuthorities } = options
  const server = createServer(handler, tls, clientAuthorities)
  await new Promise<void>((resolve, reject) => {
    const address = socketPath ?? hostPort(host, port)
    const fail = (cause: Error): void => reject(cannotListen(address, cause))
    server.once('error', fail)
    server.listen(socketPath === undefined ? { port, host } : { path: socketPath }, () => {
      server.off('error', fail)
      resolve()
    })
  })
  let certificate = tls
  let authorities = clientAuthorities
  const renew = (): void => replaceContext(server, certificate, authorities)
  const certified = server instanceof HttpsServer ? new CertifiedConnections(server) : undefined
  return {
    ...locationOf(server.address(), tls === undefined ? 'http' : 'https'),
    replaceCertificate(next) {
      certificate = next
      renew()
    },
    replaceClientAuthorities(next) {
      if (authorities === undefined)
        throw new TypeError('this listener does not request client certificates')
      authorities = next
      renew()
      certified?.endOthersThan(next)
    },
    close: () => closeServer(server, handler.context),
  }
}

function locationOf(
  address: AddressInfo | string | null,
  scheme: 'http' | 'https',
): Pick<Listener, 'url' | 'port'> {
  if (address === null || typeof address === 'string') return { url: 'http://localhost', port: 0 }
  return { url: `${scheme}://${hostPort(address.address, address.port)}`, port: address.port }
}

/** The timeout of client-go for a TLS handshake; Node's default is two minutes. */
const HANDSHAKE_MS = 10_000

/** How long a connection without a request stays open. */
const KEEP_ALIVE_MS = 90_000

function createServer(
  handler: HandlerOptions,
  tls: Certificate | undefined,
  clientAuthorities: string | undefined,
): Server {
  const { limits } = handler.context
  const http: ServerOptions = {
    ...httpArrival(limits.requestTimeout),
    maxHeaderSize: limits.headerBytes,
    keepAliveTimeout: KEEP_ALIVE_MS,
    noDelay: true,
    shouldUpgradeCallback: (request) => isUpgrade(handler, request),
  }
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    if (handler.files?.({ request, response }) === true) return
    void handleRequest(handler, request, response)
  }
  if (tls === undefined) return withUpgrades(createHttpServer(http, serve), handler)
  const handshakeTimeout = Math.min(HANDSHAKE_MS, limits.requestTimeout)
  const context = secureContext(tls, clientAuthorities)
  const clients = { requestCert: clientAuthorities !== undefined, rejectUnauthorized: false }
  const options = { ...http, ...context, ...clients, handshakeTimeout }
  return withUpgrades(createHttpsServer(options, serve), handler)
}

/** The TLS options. A client certificate that no authority signed does not fail the handshake; it is ignored. */
function secureContext(certificate: Certificate, clientAuthorities?: string): SecureContextOptions {
  const clients = clientAuthorities === undefined ? {} : { ca: clientAuthorities }
  return { ...certificate, ...clients, minVersion: 'TLSv1.2' }
}

function replaceContext(
  server: Server,
  certificate: Certificate | undefined,
  clientAuthorities: string | undefined,
): void {
  if (!(server instanceof HttpsServer) || certificate === undefined) {
    throw new TypeError('plain HTTP has no certificate')
  }
  server.setSecureContext(secureContext(certificate, clientAuthorities))
}

/** How long running requests may take to finish when the server closes. */
const CLOSE_MS = 2000

/**
 * How long idle connections stay open when the server closes, so that a request that is already on its way is
 * still answered, with Connection: close.
 */
const LINGER_MS = 250

function closeServer(server: Server, { clock, watches, streams }: HttpContext): Promise<void> {
  watches.endAll()
  streams.endAll()
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

/** Stops accepting connections. The `close` of an HTTP server would also close idle connections at once. */
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

/**
 * Whether a request upgrades to a protocol that its path supports. In any other request the header Upgrade is
 * ignored, as HTTP permits.
 */
function isUpgrade({ route }: Pick<HandlerOptions, 'route'>, request: IncomingMessage): boolean {
  if (!PROTOCOLS.has((request.headers.upgrade ?? '').toLowerCase())) return false
  const target = parseRequestTarget(request.url ?? '')
  if (target instanceof StatusError) return false
  const found = route(target.path)?.route
  if (found?.kind !== 'resource') return false
  if (found.isProxied) return true
  const { streamed = [] } = found.served.resource
  return streamed.some(({ name }) => name === found.subresource && name !== 'log')
}

/** Serves upgrade requests like all others, and passes their connection to the handler that changes the protocol. */
function withUpgrades<S extends Server>(server: S, handler: HandlerOptions): S {
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on('error', () => socket.destroy())
    const response = new HttpResponse(request)
    response.shouldKeepAlive = false
    response.assignSocket(socket)
    response.once('finish', () => socket.destroySoon())
    void handleRequest(handler, request, response, { socket, head })
  })
  return server
}
