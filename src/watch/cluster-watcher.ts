import type { ApiClient } from '../client/http/api-client.ts'
import type { RequestReporter } from '../client/http/api-failures.ts'
import { createBackoff } from '../client/http/backoff.ts'
import type { EndpointsApi } from '../client/http/discovery.ts'
import type { ApiFailure } from '../client/http/failure.ts'
import type { Reflector } from '../client/reflector/reflector.ts'
import { DEFAULT_TIMING, type ReflectorTiming } from '../client/reflector/reflector-context.ts'
import type { ReflectorState } from '../client/reflector/reflector-state.ts'
import type { ClusterEvent } from '../cluster/cluster-store.ts'
import { type Clock, sleep } from '../lib/clock.ts'
import type { Cidr } from '../lib/ip.ts'
import type { Random } from '../lib/random.ts'
import { decodeNode } from '../resources/node.ts'
import { decodeService } from '../resources/service.ts'
import { decodeServiceCIDR } from '../resources/service-cidr.ts'
import type { Node, Service, ServiceKey } from '../resources/types.ts'
import { createEndpointsFeed, type EndpointsFeed } from './endpoints-feed.ts'
import {
  createFeed,
  type FeedContext,
  type FollowedResource,
  isRefusal,
  probeList,
  type WatchProblem,
} from './feed.ts'
import { probeServer } from './server-probe.ts'

const NODE_TIMEOUT_MS = 30_000

/** What a cluster watcher follows, and the callbacks that it calls. */
interface ClusterWatcherOptions {
  readonly client: ApiClient
  readonly clock: Clock
  readonly random: Pick<Random, 'below'>
  /** The name of the only Node that is followed. */
  readonly nodeName: string
  /** Value of the label `service-proxy-name` of the Services to follow; undefined for those without the label. */
  readonly proxyName?: string | undefined
  readonly timing?: Partial<ReflectorTiming>
  /** Milliseconds after which `onSynced` no longer waits for the Node, which may be forbidden to read, and Service ranges; 30,000. */
  readonly nodeTimeoutMs?: number
  /**
   * Called with changes in their order, never with an empty batch. A deleted object may never have been reported
   * before.
   */
  readonly onEvents: (batch: readonly ClusterEvent[]) => void
  /** Called once, when everything was listed and passed to `onEvents`, or `nodeTimeoutMs` is over. */
  readonly onSynced: () => void
  /** Called for an object that cannot be used, or only in part. */
  readonly onProblem: (problem: WatchProblem) => void
  /**
   * Called once while the server has no ServiceCIDR objects, or does not permit listing them; absent if this is not
   * reported.
   */
  readonly onRangesRefused?: (failure: ApiFailure) => void
  /** Gets every failed request, and every watch that was opened. */
  readonly reporter: RequestReporter
}

/** What has been listed, and the state of each watch. */
export interface WatchState {
  readonly synced: boolean
  /** The API that endpoints come from; undefined until discovery has succeeded. */
  readonly endpointsApi: EndpointsApi | undefined
  /** Why discovery failed; undefined once it has succeeded. */
  readonly discoveryFailure: ApiFailure | undefined
  readonly services: ReflectorState
  /** Undefined until `endpointsApi` is known. */
  readonly endpoints: ReflectorState | undefined
  readonly node: ReflectorState
}

/** See `createClusterWatcher`. */
export interface ClusterWatcher {
  /** Follows the cluster until `signal` is aborted. Rejects only for a bug in a callback. */
  run(signal: AbortSignal): Promise<void>
  /** Whether Services, endpoints and the node have each been listed completely once. */
  synced(): boolean
  state(): WatchState
}

/**
 * Follows Services, endpoints and the Node of this node. While the API server cannot be reached, no change
 * is reported; `state` shows the failure, and the watches are opened again when the server is back.
 */
export function createClusterWatcher(options: ClusterWatcherOptions): ClusterWatcher {
  const { client, clock, random, timing = {}, onEvents, onSynced, onProblem, reporter } = options
  const { onRangesRefused: onRefused = () => {} } = options
  const context: FeedContext = { client, clock, random, timing, onProblem, reporter }
  const waiting = new Set(['services', 'endpoints', 'nodes', 'servicecidrs'])
  const listed = (name: string) => () => {
    if (waiting.delete(name) && waiting.size === 0) onSynced()
  }
  const services = serviceFeed(context, options, listed('services'))
  const node = nodeFeed(context, options, listed('nodes'))
  const endpoints = createEndpointsFeed({ context, onEvents, onListed: listed('endpoints') })
  const ranges = {
    run: (signal: AbortSignal) => {
      const onSettled = listed('servicecidrs')
      return followServiceCidrs({ context, onEvents, onSettled, onRefused }, signal)
    },
  }
  const states = () =>
    [services.state(), node.state(), endpoints.state()].filter((one) => one !== undefined)
  const probe = {
    run: (signal: AbortSignal) => probeServer({ client, clock, reporter, states }, signal),
  }
  const { nodeTimeoutMs = NODE_TIMEOUT_MS } = options
  return {
    async run(signal) {
      // The Node only adds topology, ranges only refusals: Services must not wait for them for ever.
      const cancel = clock.after(nodeTimeoutMs, () => {
        listed('nodes')()
        listed('servicecidrs')()
      })
      await runAll({ services, node, endpoints, ranges, probe }, signal).finally(cancel)
    },
    synced: () => waiting.size === 0,
    state: () => ({
      synced: waiting.size === 0,
      endpointsApi: endpoints.api(),
      discoveryFailure: endpoints.failure(),
      services: services.state(),
      endpoints: endpoints.state(),
      node: node.state(),
    }),
  }
}

interface Running {
  readonly services: Reflector
  readonly node: Reflector
  readonly endpoints: EndpointsFeed
  readonly ranges: { run(signal: AbortSignal): Promise<void> }
  readonly probe: { run(signal: AbortSignal): Promise<void> }
}

/** Runs all parts until `signal` is aborted; if one fails because of a bug, the others end, and it rejects. */
async function runAll(parts: Running, signal: AbortSignal): Promise<void> {
  const stop = new AbortController()
  const either = AbortSignal.any([signal, stop.signal])
  const { services, node, endpoints, ranges, probe } = parts
  const all = [services, node, endpoints, ranges, probe]
  await Promise.all(all.map((part) => part.run(either).finally(() => stop.abort())))
}

/**
 * The label selector only saves traffic, and knows one of the two labels of `NAMES.proxyName`. The decoder reads both, and
 * `src/forwarding/node-context.ts` decides which proxy serves a Service.
 */
function serviceFeed(
  context: FeedContext,
  { proxyName, onEvents }: ClusterWatcherOptions,
  onListed: () => void,
): Reflector {
  const labelSelector = '!service.kubernetes.io/service-proxy-name'
  return createFeed<Service>(context, {
    name: 'services',
    resource: { path: '/api/v1/services', query: proxyName ? {} : { labelSelector } },
    decode: decodeService,
    onChanges: (changes) =>
      onEvents(
        changes.map(({ key, value }) => ({ kind: 'service', key: key as ServiceKey, value })),
      ),
    onListed,
  })
}

function nodeFeed(
  context: FeedContext,
  { nodeName, onEvents }: ClusterWatcherOptions,
  onListed: () => void,
): Reflector {
  return createFeed<Node>(context, {
    name: 'nodes',
    resource: {
      path: '/api/v1/nodes',
      query: { fieldSelector: `metadata.name=${nodeName}` },
      single: `/api/v1/nodes/${encodeURIComponent(nodeName)}`,
    },
    decode(raw) {
      const decoded = decodeNode(raw)
      const foreign = decoded.ok && decoded.value.name !== nodeName
      return foreign ? { ok: true, value: undefined, warnings: [] } : decoded
    },
    onChanges: (changes) =>
      onEvents(changes.map(({ key, value }) => ({ kind: 'node', name: key, value }))),
    onListed,
  })
}

const CIDRS = 'servicecidrs'
const CIDRS_PATH = `/apis/networking.k8s.io/v1/${CIDRS}`
/** How often the feed of ServiceCIDRs checks for an API that the server did not have or did not permit. */
const CHECK_MS = 5 * 60_000

/** What the feed works with, and the callbacks that it calls. */
interface ServiceCidrFeedOptions {
  readonly context: FeedContext
  /** Called with changes in their order, never with an empty batch. */
  readonly onEvents: (batch: readonly ClusterEvent[]) => void
  /** Called when the objects are listed, after `onEvents` got them, and when the server refuses to list them. */
  readonly onSettled: () => void
  /** Called once while the server has no such API, or does not permit listing its objects. */
  readonly onRefused: (failure: ApiFailure) => void
}

/**
 * Follows the ServiceCIDR objects until `signal` is aborted. Servers before Kubernetes 1.33 have none, and old roles
 * do not permit listing them. Neither is a failure: the last known ranges stay, and the feed checks again every five
 * minutes. An object that is being deleted counts until it is gone, which happens when no Service has one of its
 * addresses. Rejects only for a bug in a callback.
 */
async function followServiceCidrs(
  options: ServiceCidrFeedOptions,
  signal: AbortSignal,
): Promise<void> {
  const { context, onSettled, onRefused } = options
  const { clock, random, timing, reporter } = context
  const { backoffBaseMs: baseMs, backoffMaxMs: maxMs } = { ...DEFAULT_TIMING, ...timing }
  const backoff = createBackoff({ random, baseMs, maxMs })
  let isReported = false
  let known: readonly string[] = []
  while (!signal.aborted) {
    const failure = await probeList(context, CIDRS_PATH, signal)
    if (signal.aborted) break
    if (failure === undefined) {
      isReported = false
      const feed = feedOf(options, known)
      await feed.run(signal)
      known = [...feed.keys()]
      await sleep(clock, backoff.next(), signal)
    } else if (isRefusal(failure)) {
      reporter.succeeded(CIDRS)
      if (!isReported) onRefused(failure)
      isReported = true
      onSettled()
      await sleep(clock, CHECK_MS, signal)
    } else {
      reporter.failed({ verb: 'list', resource: CIDRS }, failure)
      await sleep(clock, backoff.next(), signal)
    }
  }
}

function feedOf(
  { context, onEvents, onSettled }: ServiceCidrFeedOptions,
  earlier: Iterable<string>,
): Reflector {
  return createFeed<readonly Cidr[]>(context, {
    name: CIDRS,
    resource: { path: CIDRS_PATH, query: {}, endWhenMissing: true },
    decode: decodeServiceCIDR,
    earlier,
    onChanges: (changes) =>
      onEvents(changes.map(({ key, value }) => ({ kind: 'serviceCIDR', name: key, value }))),
    onListed: onSettled,
  })
}

/** One followed resource, named as the API names it. */
export interface WatchedResource {
  readonly resource: FollowedResource
  /** Undefined until discovery has found the API of endpoints. */
  readonly state: ReflectorState | undefined
}

/** The followed resources under the names that metrics, `/readyz` and logs use. */
export function watchedResources(watch: WatchState): readonly WatchedResource[] {
  const endpoints = watch.endpointsApi === 'v1' ? 'endpoints' : 'endpointslices'
  return [
    { resource: 'services', state: watch.services },
    { resource: endpoints, state: watch.endpoints },
    { resource: 'nodes', state: watch.node },
  ]
}
