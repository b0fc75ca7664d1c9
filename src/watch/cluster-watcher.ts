import type { ApiClient } from '../client/http/api-client.ts'
import type { EndpointsApi } from '../client/http/discovery.ts'
import type { RequestReporter } from '../client/http/failure/api-failures.ts'
import type { ApiFailure } from '../client/http/failure/failure.ts'
import type { Reflector } from '../client/reflector/reflector.ts'
import type { ReflectorTiming } from '../client/reflector/reflector-context.ts'
import type { ReflectorState } from '../client/reflector/reflector-state.ts'
import type { ClusterEvent } from '../cluster/cluster-event.ts'
import type { Clock } from '../lib/clock.ts'
import type { Random } from '../lib/random.ts'
import { decodeNode } from '../resources/node.ts'
import { decodeService } from '../resources/service.ts'
import type { Node, Service, ServiceKey } from '../resources/types.ts'
import type { EndpointsFeed } from './endpoints-feed.ts'
import { createEndpointsFeed } from './endpoints-feed.ts'
import type { FeedContext } from './feed.ts'
import { createFeed } from './feed.ts'
import type { WatchProblem } from './problem.ts'
import { probeServer } from './server-probe.ts'

const NODE_TIMEOUT_MS = 30_000

export interface ClusterWatcherOptions {
  readonly client: ApiClient
  readonly clock: Clock
  readonly random: Pick<Random, 'below'>
  /** The only Node that is followed. */
  readonly nodeName: string
  /** Services of this proxy alone are served; undefined: those without the label. */
  readonly proxyName?: string | undefined
  readonly timing?: Partial<ReflectorTiming>
  /** How long everything else waits for a Node object that may not be read; 30 s. */
  readonly nodeTimeoutMs?: number
  /** Changes in their order, never empty. A deletion may come for what was never known. */
  readonly onEvents: (batch: readonly ClusterEvent[]) => void
  /** Once: everything has been listed and handed to `onEvents` (or the Node was waited for long enough). */
  readonly onSynced: () => void
  /** An object that cannot be used (or not all of it). */
  readonly onProblem: (problem: WatchProblem) => void
  /** Every failed request, and every watch that was opened. */
  readonly reporter: RequestReporter
}

/** How well the cluster is followed. */
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

export interface ClusterWatcher {
  /** Follows the cluster until `signal` is aborted. Rejects only for a bug in a callback. */
  run(signal: AbortSignal): Promise<void>
  /** Whether Services, endpoints and the node have each been listed completely once. */
  synced(): boolean
  state(): WatchState
}

/**
 * Follows what a node needs of the cluster. An API server that is away changes
 * nothing of what was reported before; it shows in `state` and heals by itself.
 */
export function createClusterWatcher(options: ClusterWatcherOptions): ClusterWatcher {
  const { client, clock, random, timing = {}, onEvents, onSynced, onProblem, reporter } = options
  const context: FeedContext = { client, clock, random, timing, onProblem, reporter }
  const waiting = new Set(['services', 'endpoints', 'nodes'])
  const listed = (name: string) => () => {
    if (waiting.delete(name) && waiting.size === 0) onSynced()
  }
  const services = serviceFeed(context, options, listed('services'))
  const node = nodeFeed(context, options, listed('nodes'))
  const endpoints = createEndpointsFeed({ context, onEvents, onListed: listed('endpoints') })
  const states = () =>
    [services.state(), node.state(), endpoints.state()].filter((one) => one !== undefined)
  const probe = {
    run: (signal: AbortSignal) => probeServer({ client, clock, reporter, states }, signal),
  }
  const { nodeTimeoutMs = NODE_TIMEOUT_MS } = options
  return {
    async run(signal) {
      // Services do not wait for the Node object for ever: it only adds topology.
      const cancel = clock.after(nodeTimeoutMs, listed('nodes'))
      await runAll({ services, node, endpoints, probe }, signal).finally(cancel)
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

interface Feeds {
  readonly services: Reflector
  readonly node: Reflector
  readonly endpoints: EndpointsFeed
  readonly probe: { run(signal: AbortSignal): Promise<void> }
}

/** Runs all feeds; a bug in one ends the others too, and rejects. */
async function runAll(feeds: Feeds, signal: AbortSignal): Promise<void> {
  const stop = new AbortController()
  const end = (): void => stop.abort()
  if (signal.aborted) end()
  signal.addEventListener('abort', end, { once: true })
  try {
    const { services, node, endpoints, probe } = feeds
    const all = [services, node, endpoints, probe]
    await Promise.all(all.map((feed) => feed.run(stop.signal).finally(end)))
  } finally {
    signal.removeEventListener('abort', end)
  }
}

/**
 * The label selector only saves traffic: the other brand's label is seen when
 * decoding, and who serves a Service is decided where it is compiled.
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
