import { createServer as createHttpServer, type Server, type ServerOptions } from 'node:http'
import { createServer as createHttpsServer, Server as HttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { type Clock, systemClock } from '../lib/clock.ts'
import { NodeProxyError } from '../lib/error.ts'
import { type Random, systemRandom } from '../lib/random.ts'
import { timestamp } from '../lib/timestamp.ts'
import type { Store } from '../storage/store.ts'
import { Feed } from './cache/feed.ts'
import { encodeStored } from './codec.ts'
import { expireEvents } from './event-expiry.ts'
import { healthChecks } from './health-checks.ts'
import { type HandlerOptions, handleRequest } from './http/handle-request.ts'
import { catalogue } from './kinds/catalogue.ts'
import { namespaces } from './kinds/namespace.ts'
import { defaultLimits, type Limits } from './limits.ts'
import { measuredStore } from './metrics/measured-store.ts'
import { createServerMetrics } from './metrics/server-metrics.ts'
import { storageKey } from './resource.ts'
import { createRoutes } from './routes.ts'
import { ALLOCATIONS } from './services/claim.ts'
import type { PortRange } from './services/node-ports.ts'
import { ServiceAllocator } from './services/service-allocator.ts'
import type { Serving } from './serving.ts'
import { WatchRegistry } from './watch/watch-registry.ts'

export interface ApiServerOptions {
  readonly store: Store
  readonly clock?: Clock
  readonly random?: Random
  readonly limits?: Partial<Limits>
  /** One CIDR per address family, the primary one first. Default 10.96.0.0/16. */
  readonly serviceAddressRanges?: readonly string[]
  /** Default 30000–32767. */
  readonly nodePortRange?: PortRange
  /** Told what should not have happened; the server goes on. */
  readonly onError?: (error: unknown) => void
  /** Text in Prometheus' format of whoever else works in this process, for /metrics. */
  readonly moreMetrics?: () => Promise<string>
}

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

export interface ApiServer {
  /** Serves on one more address; the first call loads the caches. */
  listen(options?: ListenOptions): Promise<Listening>
  /** Closes every listener and stops following the store, which stays open. */
  close(): Promise<void>
}

/** An API server on a store. */
export function createApiServer(options: ApiServerOptions): ApiServer {
  const { onError = () => undefined } = options
  const metrics = createServerMetrics(options.moreMetrics)
  const store = measuredStore(options.store, metrics)
  const serving = assemble({ ...options, store, onError })
  const listeners = new Set<Listening>()
  let started: Promise<void> | undefined
  let isReady = false
  let stopExpiry = (): void => undefined
  const start = async (): Promise<void> => {
    await ensureDefaultNamespace(serving)
    await serving.feed.start()
    stopExpiry = expireEvents(serving, onError)
    isReady = true
  }
  const handler: HandlerOptions = {
    serving,
    route: createRoutes(catalogue),
    metrics,
    checks: healthChecks(serving, () => isReady),
    onError,
  }
  return {
    listen: async (listenOptions = {}) => {
      started ??= start()
      await started
      const listening = await listen(handler, listenOptions)
      listeners.add(listening)
      return listening
    },
    close: async () => {
      isReady = false
      stopExpiry()
      serving.watches.endAll()
      await Promise.all([...listeners].map((listening) => listening.close()))
      await serving.feed.stop()
    },
  }
}

function assemble(options: ApiServerOptions & Pick<HandlerOptions, 'onError'>): Serving {
  const { store, clock = systemClock, random = systemRandom } = options
  const limits = { ...defaultLimits, ...options.limits }
  const allocator = new ServiceAllocator({
    ranges: options.serviceAddressRanges ?? ['10.96.0.0/16'],
    nodePorts: options.nodePortRange ?? { first: 30_000, last: 32_767 },
    random,
  })
  const feed = new Feed({
    ...limits,
    store,
    clock,
    resources: catalogue,
    backlog: limits.windowChanges,
    followers: { [ALLOCATIONS]: allocator.pool },
    onError: options.onError,
  })
  return {
    store,
    clock,
    random,
    limits,
    allocator,
    feed,
    watches: new WatchRegistry(limits.watches),
  }
}

async function ensureDefaultNamespace({ store, clock, random }: Serving): Promise<void> {
  const key = storageKey(namespaces, '', 'default')
  const value = encodeStored({
    metadata: {
      name: 'default',
      uid: random.uuid(),
      creationTimestamp: timestamp(clock.now()),
      labels: { 'kubernetes.io/metadata.name': 'default' },
    },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  })
  await store.txn({ compare: [{ key, modRevision: 0 }], operations: [{ op: 'put', key, value }] })
}

async function listen(handler: HandlerOptions, options: ListenOptions): Promise<Listening> {
  const { host = '127.0.0.1', port = 0, socketPath, tls } = options
  const server = createServer(handler, tls)
  await new Promise<void>((resolve, reject) => {
    const place = socketPath ?? `${host}:${port}`
    const fail = (cause: Error): void => reject(cannotListen(place, cause))
    server.once('error', fail)
    server.listen(socketPath === undefined ? { port, host } : { path: socketPath }, () => {
      server.off('error', fail)
      resolve()
    })
  })
  return {
    ...reachedAt(server.address(), tls === undefined ? 'http' : 'https'),
    present: (certificate) => present(server, certificate),
    close: () => closeServer(server, handler.serving),
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

function createServer(handler: HandlerOptions, tls: ListenOptions['tls']): Server {
  const { limits } = handler.serving
  const http: ServerOptions = {
    maxHeaderSize: limits.headerBytes,
    requestTimeout: limits.requestMs,
    headersTimeout: limits.requestMs,
    keepAliveTimeout: 90_000,
    noDelay: true,
  }
  const listener = handleRequest.bind(undefined, handler)
  const serve = (...exchange: Parameters<typeof listener>): void => void listener(...exchange)
  if (tls === undefined) return createHttpServer(http, serve)
  return createHttpsServer({ ...http, ...tls, minVersion: 'TLSv1.2' }, serve)
}

function present(server: Server, certificate: Certificate): void {
  if (!(server instanceof HttpsServer)) throw new TypeError('plain HTTP has no certificate')
  server.setSecureContext(certificate)
}

/** How long requests that run may take to finish when the server closes. */
const CLOSE_MS = 2000

function closeServer(server: Server, { clock, watches }: Serving): Promise<void> {
  watches.endAll()
  return new Promise((resolve) => {
    const cancel = clock.after(CLOSE_MS, () => server.closeAllConnections())
    server.close(() => {
      cancel()
      resolve()
    })
    server.closeIdleConnections()
  })
}

function cannotListen(place: string, cause: Error): NodeProxyError {
  return new NodeProxyError('NP_APISERVER_LISTEN', `cannot listen on ${place}: ${cause.message}`, {
    cause,
    hint: 'choose another address or port, or stop what uses this one',
  })
}
