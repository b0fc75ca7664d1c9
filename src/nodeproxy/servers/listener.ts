import type {
  IncomingMessage,
  RequestListener,
  Server,
  ServerOptions,
  ServerResponse,
} from 'node:http'
import type { Server as TlsServer } from 'node:https'
import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { httpArrival } from '../../lib/http/arrival.ts'
import { createServer } from '../../lib/http/node-http.ts'
import { familyOf, hostPort } from '../../lib/ip.ts'
import type { SocketAddress } from '../../settings/network-types.ts'

export interface ListenerOptions {
  readonly address: SocketAddress
  readonly handler: RequestListener
  readonly clock: Clock
  /** How long clients may take; short ones are for tests. */
  readonly timeouts?: ListenerTimeouts
  /** `::` for IPv6 alone, where `0.0.0.0` has a listener of its own. */
  readonly ipv6Only?: boolean
  /** Opens the server for each try to listen; plain HTTP unless given. */
  readonly open?: (limits: ServerOptions, handler: RequestListener) => Server | TlsServer
  /** The most bytes of the headers of one request. */
  readonly maxHeaderBytes?: number
  /** Called once for each reason why it cannot listen; the listener goes on trying. */
  readonly onBlocked: (error: NodeProxyError) => void
  readonly onListening?: () => void
}

/**
 * Short, because the kernel does not notify a process when a port becomes free, and a load balancer removes a node
 * that does not answer for some seconds. One try costs two system calls.
 */
const RETRY_MS = 500

/** In milliseconds. */
export interface ListenerTimeouts {
  /** For a request to arrive whole, also the first one of a connection. */
  readonly arrival: number
  /** For the next request on a connection. */
  readonly keepAlive: number
  /** Within which a client must read a part of its answer. */
  readonly stalled: number
}

const TIMEOUTS: ListenerTimeouts = { arrival: 5_000, keepAlive: 5_000, stalled: 10_000 }

const MAX_HEADER_BYTES = 8_192
const MAX_CONNECTIONS = 64

/** An HTTP server on one address that binds as soon as the address is free. */
export class Listener {
  readonly #options: ListenerOptions
  #server: Server | TlsServer | undefined
  #cancelRetry: () => void = () => {}
  #closed = false
  #reported = ''

  constructor(options: ListenerOptions) {
    this.#options = options
  }

  /** The first try; true when it listens. Later tries follow by themselves. */
  async start(): Promise<boolean> {
    return this.#bind()
  }

  /** The bound port; differs from the requested one when that was 0. */
  get port(): number | undefined {
    const bound = this.#server?.address()
    return typeof bound === 'object' && bound !== null ? bound.port : undefined
  }

  get wantedPort(): number {
    return this.#options.address.port
  }

  /** Stops listening at once and cuts open connections. */
  async close(): Promise<void> {
    this.#closed = true
    this.#cancelRetry()
    const server = this.#server
    this.#server = undefined
    if (server !== undefined) await closeServer(server)
  }

  async #bind(): Promise<boolean> {
    const server = createGuardedServer(this.#options)
    const failure = await listen(server, this.#options)
    if (this.#closed) {
      if (failure === undefined) await closeServer(server)
      return false
    }
    if (failure === undefined) {
      this.#server = server
      this.#options.onListening?.()
      return true
    }
    this.#report(bindError(this.#options.address, failure))
    this.#cancelRetry = this.#options.clock.after(RETRY_MS, () => void this.#bind())
    return false
  }

  #report(error: NodeProxyError): void {
    if (this.#reported === error.message) return
    this.#reported = error.message
    this.#options.onBlocked(error)
  }
}

/** Small answers to small requests: slow and large clients are disconnected. */
function createGuardedServer(options: ListenerOptions): Server | TlsServer {
  const { handler, timeouts = TIMEOUTS, open = createServer } = options
  const limits = {
    ...httpArrival(timeouts.arrival),
    keepAliveTimeout: timeouts.keepAlive,
    maxHeaderSize: options.maxHeaderBytes ?? MAX_HEADER_BYTES,
  }
  const server = open(limits, guard(handler))
  server.maxConnections = MAX_CONNECTIONS
  server.timeout = timeouts.stalled
  return server
}

function listen(server: Server | TlsServer, options: ListenerOptions): Promise<Error | undefined> {
  const { address, ipv6Only = false } = options
  return new Promise((resolve) => {
    server.once('error', resolve)
    server.listen({ host: address.ip, port: address.port, ipv6Only }, () => {
      server.off('error', resolve)
      // A connection that cannot be accepted (no file descriptor left) costs only that connection.
      server.on('error', () => {})
      resolve(undefined)
    })
  })
}

function closeServer(server: Server | TlsServer): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

/** Bodies are never read: a request that brings one gets its answer and loses its connection. */
function guard(handler: RequestListener): RequestListener {
  return (request, response) => {
    const hasBody =
      request.headers['transfer-encoding'] !== undefined ||
      (request.headers['content-length'] ?? '0') !== '0'
    if (hasBody) response.setHeader('Connection', 'close')
    handler(request, response)
  }
}

function bindError(address: SocketAddress, cause: Error): NodeProxyError {
  const code = (cause as NodeJS.ErrnoException).code
  const place = hostPort(address.ip, address.port)
  return new NodeProxyError(
    'NP_NODEPROXY_BIND',
    `cannot listen on ${place}: ${code ?? cause.message}`,
    {
      object: place,
      hint: hintFor(code, address),
      cause,
    },
  )
}

function hintFor(code: string | undefined, address: SocketAddress): string {
  const port = `sport = :${address.port}`
  if (code === 'EADDRINUSE') return `another process has it: ss -Hltnp '${port}'`
  if (code === 'EADDRNOTAVAIL') return 'this node does not have that address: ip addr'
  if (code === 'EACCES') return 'ports below 1024 need CAP_NET_BIND_SERVICE'
  return familyOf(address.ip) === 6 ? 'is IPv6 enabled on this node?' : 'see the cause'
}

/** A listener whose module is loaded with the first request, so that it costs nothing in a daemon without readers. */
export function lazyListener(
  load: () => Promise<RequestListener>,
  onError: (error: unknown) => void,
): RequestListener {
  const state: { loaded: Promise<RequestListener> | undefined } = { loaded: undefined }
  return (request: IncomingMessage, response: ServerResponse) => {
    state.loaded ??= load()
    state.loaded.then(
      (listener) => listener(request, response),
      (error: unknown) => {
        onError(error)
        response.destroy()
      },
    )
  }
}
