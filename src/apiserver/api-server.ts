import type { NodePods } from '../auth/node/node-permits.ts'
import { systemClock } from '../lib/clock.ts'
import { timestamp } from '../lib/duration.ts'
import { parseIp } from '../lib/ip.ts'
import { stringAt } from '../lib/json.ts'
import type { PortRange } from '../lib/port-range.ts'
import { systemRandom } from '../lib/random.ts'
import { EMPTIED, NAMESPACE_NAME } from '../resources/label-names.ts'
import { NODE_LEASES } from '../resources/names.ts'
import type { Store } from '../storage/store.ts'
import { Conditions } from '../telemetry/health/conditions.ts'
import type { IdentityOptions } from './authentication/identity-options.ts'
import { AllocationRepair } from './background/allocation-repair.ts'
import { ApiServicePublisher } from './background/api-service-publisher.ts'
import { whyUnreachable } from './background/api-services.ts'
import { ensureBuiltinRoles } from './background/builtin-roles.ts'
import { expireObjects } from './background/object-expiry.ts'
import { PolicyFollower } from './background/policy-follower.ts'
import { ensureServiceCidr } from './background/service-cidr.ts'
import type { BackgroundContext } from './background/system-request.ts'
import { type CacheReader, objectReader } from './cache/feed.ts'
import type { Limits } from './context/limits.ts'
import type { OperatorLog, ServerContext } from './context/server-context.ts'
import { encodeStored } from './encoding/codec.ts'
import { healthChecks } from './health/health-checks.ts'
import { StoreHealth } from './health/store-health.ts'
import { createHttpContext, type HttpContextOptions } from './http/create-http-context.ts'
import type { HandlerOptions } from './http/handle-request.ts'
import { type Listener, type ListenOptions, listen } from './http/listen.ts'
import { RequestBodies } from './http/request-bodies.ts'
import { createRoutes } from './http/routes.ts'
import { catalogue } from './kinds/catalogue.ts'
import { LASTING_NAMESPACES, namespaces } from './kinds/namespace.ts'
import { pods } from './kinds/pod/resource.ts'
import { ServiceAllocator } from './kinds/service/service-allocator.ts'
import { volumeAttachments } from './kinds/storage.ts'
import { storedAccounts } from './kinds/token-objects.ts'
import { createServerMetrics, type ServerMetrics } from './metrics/server-metrics.ts'
import type { FileHandler } from './request/api-request.ts'
import { storageKey } from './resource/resource.ts'

/** The namespaces that every cluster has: those that cannot be deleted, and the one for the Leases of nodes. */
const SYSTEM_NAMESPACES = [...LASTING_NAMESPACES, NODE_LEASES]

/** The options that are passed on to the context of requests. */
type GivenOptions = Pick<
  HttpContextOptions,
  | 'audit'
  | 'clock'
  | 'connectNode'
  | 'kubelets'
  | 'limits'
  | 'nodeCredentials'
  | 'nodeStreams'
  | 'ownAddresses'
  | 'random'
  | 'store'
>

export interface ApiServerOptions extends GivenOptions {
  /**
   * How the server authenticates users; absent: every request has the rights of an administrator, so the server
   * must be reachable only from its own machine.
   */
  readonly identity?: IdentityOptions
  /** One CIDR per address family, the primary one first. Default 10.96.0.0/16. */
  readonly serviceAddressRanges?: readonly string[]
  /** Default 30000–32767. */
  readonly nodePortRange?: PortRange
  /** Receives bugs and failures of the store; the server continues to run. */
  readonly onError?: (error: unknown) => void
  /** Receives messages for operators. Default: nothing is logged. */
  readonly log?: OperatorLog
  /** Answers requests for files outside of the API; absent: there are none. */
  readonly files?: FileHandler
  /** Why the program around the server is not ready yet, as a sentence; undefined: it is. `/readyz` fails until then. */
  readonly startFault?: () => string | undefined
  /** Further metrics of this process for /metrics, in Prometheus' text format. */
  readonly moreMetrics?: () => Promise<string>
}

export interface ApiServer {
  /**
   * Serves on one more address; the first call loads the caches, and resolves when they are loaded. Until
   * then resources are 503 and `/readyz` fails.
   * @throws NP_APISERVER_LISTEN; the errors of the store
   */
  listen(options?: ListenOptions): Promise<Listener>
  /**
   * Makes the Services by which Pods reach the API (`kubernetes` and `orch` in `default`) lead to this server, once it
   * listens, and to its replicas on the same store, and keeps them so.
   */
  advertise(at: { readonly address: string; readonly port: number }): Advertisement
  /** Makes `/readyz` fail, so that load balancers choose other servers; requests are still served. */
  drain(): void
  /**
   * Closes every listener and stops following the store, which stays open. If the caches are still being loaded, this goes
   * on until they are, or fails; nothing runs regularly afterwards.
   */
  close(): Promise<void>
}

/** Bytes of the bodies of all requests that are not answered yet. */
const MAX_TOTAL_BODY_BYTES = 128 << 20

function createAllocator(options: ApiServerOptions): ServiceAllocator {
  return new ServiceAllocator({
    ranges: options.serviceAddressRanges ?? ['10.96.0.0/16'],
    nodePorts: options.nodePortRange ?? { first: 30_000, last: 32_767 },
    random: options.random ?? systemRandom,
  })
}

function createBodies({ requestBytes }: Limits): RequestBodies {
  return new RequestBodies({ bytesPerBody: requestBytes, totalBytes: MAX_TOTAL_BODY_BYTES })
}

function withStoredObjects(identity: ApiServerOptions['identity']) {
  return identity && { ...identity, accounts: storedAccounts, nodePods: storedNodePods }
}

/** Creates an API server on a store. It serves nothing before `listen`. */
export function createApiServer(options: ApiServerOptions): ApiServer {
  const { onError = () => undefined, log = NO_LOG, clock = systemClock } = options
  const metrics = createServerMetrics(options.moreMetrics)
  const health = new StoreHealth(measuredStore(options.store, metrics), clock)
  const conditions = new Conditions({ log, metrics })
  const allocator = createAllocator(options)
  const listeners = new Set<Listener>()
  const context = createHttpContext(
    {
      ...options,
      store: withSharedRevision(health.store),
      onError,
      log,
      conditions,
      ownPorts: () => [...listeners].map(({ port }) => port),
      policy: new PolicyFollower(),
      onAccountToken: (keyId) => metrics.accountTokens.inc({ key_id: keyId }),
      identity: withStoredObjects(options.identity),
    },
    allocator,
  )
  let started: Promise<() => void> | undefined
  const start = async (): Promise<() => void> => {
    const stopUpkeep = await startUpkeep({ context, metrics, onError })
    context.lifecycle.loaded()
    return stopUpkeep
  }
  const handler: HandlerOptions = {
    context,
    route: createRoutes(catalogue),
    metrics,
    bodies: createBodies(context.limits),
    files: options.files,
    checks: healthChecks({ ...options, ...context, store: health }),
    onError,
  }
  const closeListeners = () => Promise.all([...listeners].map((one) => one.close()))
  return {
    listen: async (listenOptions = {}) => {
      const listener = await listen(handler, listenOptions)
      listeners.add(listener)
      started ??= start()
      await started.catch(async (error: unknown) => {
        await closeListeners()
        throw error
      })
      return listener
    },
    advertise: (at) => advertise(context, at, onError),
    drain: () => context.lifecycle.closing(),
    close: async () => {
      context.lifecycle.closing()
      void started?.then((stopUpkeep) => stopUpkeep()).catch(() => undefined)
      health.stop()
      context.watches.endAll()
      await closeListeners()
      await context.feed.stop()
    },
  }
}

interface UpkeepParts {
  readonly context: ReturnType<typeof createHttpContext<ServiceAllocator>>
  readonly metrics: ServerMetrics
  readonly onError: (error: unknown) => void
}

/**
 * Loads the caches, stores the objects that every cluster has, and runs the background work until the returned
 * function is called.
 */
async function startUpkeep({ context, metrics, onError }: UpkeepParts): Promise<() => void> {
  await ensureSystemNamespaces(context)
  await context.feed.start()
  await ensureServiceCidr(context)
  if (context.knowsUsers) await ensureBuiltinRoles(context)
  const repair = new AllocationRepair({ context, metrics, onError })
  await repair.start()
  const stopExpiry = expireObjects(context, onError)
  return () => {
    repair.stop()
    stopExpiry()
  }
}

const NO_LOG: OperatorLog = { info: () => undefined, warn: () => undefined }

/** The objects in the caches, from which the permissions of node agents are derived. */
function storedNodePods(caches: CacheReader): NodePods {
  const objects = objectReader(caches)
  return {
    pod: (namespace, name) => objects.get(pods, namespace, name),
    podsIn: (namespace) => objects.list(pods, namespace),
    nodeOfAttachment: (name) =>
      stringAt(objects.get(volumeAttachments, '', name), 'spec', 'nodeName') || undefined,
  }
}

/** What `advertise` returns: whether this server is an endpoint of those Services, and how to end that. */
interface Advertisement {
  /** Why Pods cannot reach this server, which then has no endpoint; undefined: they can. */
  readonly unreachable: string | undefined
  /** Takes this server out of the endpoints. To be called before the server closes. */
  stop(): Promise<void>
}

/** Maintains the Services by which Pods reach the API, with this server among their endpoints if Pods can reach it. */
function advertise(
  context: BackgroundContext,
  { address, port }: { readonly address: string; readonly port: number },
  onError: (error: unknown) => void,
): Advertisement {
  const unreachable = whyUnreachable(address, context.allocator.ranges[0]?.family ?? 4)
  const ip = unreachable === undefined ? parseIp(address) : undefined
  const replica = ip === undefined ? undefined : { ip, port }
  const publisher = new ApiServicePublisher({ context, replica, onError })
  return { unreachable, stop: () => publisher.stop() }
}

/** Creates missing system namespaces. */
async function ensureSystemNamespaces(context: ServerContext): Promise<void> {
  for (const name of SYSTEM_NAMESPACES) await ensureNamespace(context, name)
}

async function ensureNamespace(
  { store, clock, random }: ServerContext,
  name: string,
): Promise<void> {
  const key = storageKey(namespaces, '', name)
  const value = encodeStored({
    metadata: {
      name,
      uid: random.uuid(),
      creationTimestamp: timestamp(clock.now()),
      labels: { [NAMESPACE_NAME]: name },
    },
    spec: { finalizers: [EMPTIED] },
    status: { phase: 'Active' },
  })
  await store.txn({ compare: [{ key, modRevision: 0 }], operations: [{ op: 'put', key, value }] })
}

/**
 * The same store, with one call for the newest revision shared by many readers. A reader that arrives during a
 * call waits for the next call: the result of the running one may be older than a write that the reader already
 * knows of.
 */
export function withSharedRevision(store: Store): Store {
  let underWay: Promise<unknown> = Promise.resolve()
  let next: Promise<number> | undefined
  const request = async (): Promise<number> => {
    await underWay
    next = undefined
    const call = store.revision()
    underWay = call.catch(() => undefined)
    return call
  }
  return {
    revision: () => (next ??= request()),
    get: (key) => store.get(key),
    list: (query) => store.list(query),
    txn: (transaction) => store.txn(transaction),
    watch: (query) => store.watch(query),
    compact: (revision) => store.compact(revision),
    close: () => store.close(),
  }
}

/** The store, with a measurement of how long each call takes. */
export function measuredStore(
  store: Store,
  { storeDuration }: Pick<ServerMetrics, 'storeDuration'>,
  now: () => number = performance.now.bind(performance),
): Store {
  const measured = async <T>(operation: string, answer: () => Promise<T>): Promise<T> => {
    const start = now()
    let result = 'failed'
    try {
      const value = await answer()
      result = 'answered'
      return value
    } finally {
      storeDuration.observe({ operation, result }, (now() - start) / 1000)
    }
  }
  return {
    revision: () => measured('revision', () => store.revision()),
    get: (key) => measured('get', () => store.get(key)),
    list: (query) => measured('list', () => store.list(query)),
    txn: (transaction) => measured('txn', () => store.txn(transaction)),
    compact: (revision) => measured('compact', () => store.compact(revision)),
    watch: (query) => store.watch(query),
    close: () => store.close(),
  }
}
