import { type Clock, systemClock } from '../lib/clock.ts'
import { parseIp } from '../lib/ip.ts'
import type { PortRange } from '../lib/port-range.ts'
import { type Random, systemRandom } from '../lib/random.ts'
import type { Store } from '../storage/store.ts'
import { Conditions } from '../telemetry/health/conditions.ts'
import { Feed } from './cache/feed.ts'
import type { UnreadableObject } from './cache/item.ts'
import { withSharedRevision } from './cache/shared-revision.ts'
import { unreadableSummary } from './cache/unreadable.ts'
import { defaultLimits, type Limits } from './context/limits.ts'
import type { OperatorLog, ServerContext } from './context/server-context.ts'
import { WatchRegistry } from './context/watch-registry.ts'
import { WriteTurns } from './context/write-turns.ts'
import { InFlightLimits } from './flow-control/in-flight-limits.ts'
import { healthChecks } from './health/health-checks.ts'
import { Lifecycle } from './health/lifecycle.ts'
import { StoreHealth } from './health/store-health.ts'
import type { HandlerOptions } from './http/handle-request.ts'
import type { HttpContext } from './http/http-context.ts'
import { type Listening, type ListenOptions, listen } from './http/listen.ts'
import { RequestBodies } from './http/request-bodies.ts'
import { catalogue } from './kinds/catalogue.ts'
import { measuredStore } from './metrics/measured-store.ts'
import { createServerMetrics } from './metrics/server-metrics.ts'
import { createRoutes } from './routing/routes.ts'
import { ALLOCATIONS } from './services/claim.ts'
import { AllocationRepair } from './services/repair/allocation-repair.ts'
import { ServiceAllocator } from './services/service-allocator.ts'
import { expireEvents } from './system/event-expiry.ts'
import { MasterService } from './system/master-service.ts'
import { unreachableBecause } from './system/replica-address.ts'
import { ensureServiceCidr } from './system/service-cidr.ts'
import { ensureSystemNamespaces } from './system/system-namespaces.ts'

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
  /** Records what operators should know of; nowhere unless given. */
  readonly log?: OperatorLog
  /** Text in Prometheus' format of whoever else works in this process, for /metrics. */
  readonly moreMetrics?: () => Promise<string>
}

export interface ApiServer {
  /**
   * Serves on one more address; the first call loads the caches. Until they are loaded,
   * resources are 503 and `/readyz` says so.
   */
  listen(options?: ListenOptions): Promise<Listening>
  /**
   * Keeps the Services by which Pods reach the API pointing at this server, once it listens,
   * and at its replicas on the same store.
   */
  advertise(at: { readonly address: string; readonly port: number }): Advertisement
  /** From now on `/readyz` fails, so that traffic goes elsewhere; everything is still served. */
  drain(): void
  /** Closes every listener and stops following the store, which stays open. */
  close(): Promise<void>
}

export interface Advertisement {
  /** Why the Services do not lead to this server; undefined when they do. */
  readonly unreachable: string | undefined
  /** Takes this server out of the Services; before the server closes. */
  stop(): Promise<void>
}

/** Bytes of the bodies of all requests that are not answered yet. */
const MOST_BODY_BYTES = 128 << 20

/** An API server on a store. */
export function createApiServer(options: ApiServerOptions): ApiServer {
  const { onError = () => undefined, log = NO_LOG } = options
  const metrics = createServerMetrics(options.moreMetrics)
  const health = new StoreHealth(
    measuredStore(options.store, metrics),
    options.clock ?? systemClock,
  )
  const store = withSharedRevision(health.store)
  const conditions = new Conditions({ log, metrics })
  const context = assemble({ ...options, store, onError, log, conditions })
  const { lifecycle } = context
  const listeners = new Set<Listening>()
  let started: Promise<void> | undefined
  let stopUpkeep = (): void => undefined
  const start = async (): Promise<void> => {
    await ensureSystemNamespaces(context)
    await context.feed.start()
    await ensureServiceCidr(context)
    const repair = new AllocationRepair({ context, metrics, onError })
    await repair.start()
    const stopExpiry = expireEvents(context, onError)
    stopUpkeep = () => {
      repair.stop()
      stopExpiry()
    }
    lifecycle.loaded()
  }
  const handler: HandlerOptions = {
    context,
    route: createRoutes(catalogue),
    metrics,
    bodies: new RequestBodies({ each: context.limits.requestBytes, together: MOST_BODY_BYTES }),
    checks: healthChecks({ ...context, store: health }),
    onError,
  }
  const closeListeners = (): Promise<unknown> =>
    Promise.all([...listeners].map((listening) => listening.close()))
  return {
    listen: async (listenOptions = {}) => {
      const listening = await listen(handler, listenOptions)
      listeners.add(listening)
      started ??= start()
      await started.catch(async (error: unknown) => {
        await closeListeners()
        throw error
      })
      return listening
    },
    advertise: (at) => advertise(context, at, onError),
    drain: () => lifecycle.closing(),
    close: async () => {
      lifecycle.closing()
      stopUpkeep()
      health.stop()
      context.watches.endAll()
      await closeListeners()
      await context.feed.stop()
    },
  }
}

const NO_LOG: OperatorLog = { info: () => undefined, warn: () => undefined }

interface Assembly extends ApiServerOptions {
  readonly onError: (error: unknown) => void
  readonly log: OperatorLog
  readonly conditions: Conditions
}

function assemble(options: Assembly): HttpContext {
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
    followers: { [ALLOCATIONS]: allocator.pool },
    onError: options.onError,
    onUnreadable: (all) => reportUnreadable(options.conditions, all),
  })
  return {
    log: options.log,
    conditions: options.conditions,
    store,
    clock,
    random,
    limits,
    allocator,
    feed,
    watches: new WatchRegistry(limits.watches),
    lifecycle: new Lifecycle(),
    turns: new WriteTurns(),
    inFlight: new InFlightLimits({
      clock,
      inFlight: { readOnly: limits.requestsInFlight, mutating: limits.mutatingRequestsInFlight },
      waitMs: limits.requestTimeout / 4,
    }),
  }
}

function reportUnreadable(conditions: Conditions, all: readonly UnreadableObject[]): void {
  const reason = 'unreadable-objects'
  if (all.length === 0) conditions.clear(reason)
  else conditions.raise(reason, { message: unreadableSummary(all), blocksReadiness: false })
}

function advertise(
  context: ServerContext,
  { address, port }: { readonly address: string; readonly port: number },
  onError: (error: unknown) => void,
): Advertisement {
  const unreachable = unreachableBecause(address, context.allocator.ranges[0]?.family ?? 4)
  const ip = unreachable === undefined ? parseIp(address) : undefined
  const replica = ip === undefined ? undefined : { ip, port }
  const kept = new MasterService({ context, replica, onError })
  return { unreachable, stop: () => kept.stop() }
}
