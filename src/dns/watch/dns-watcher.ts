import type { ApiClient } from '../../client/http/api-client.ts'
import type { RequestReporter } from '../../client/http/failure/api-failures.ts'
import type { ReflectorState } from '../../client/reflector/reflector-state.ts'
import type { ClusterEvent } from '../../cluster/cluster-event.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Random } from '../../lib/random.ts'
import { decodeService } from '../../resources/service.ts'
import type { Service, ServiceKey } from '../../resources/types.ts'
import { createEndpointsFeed } from '../../watch/endpoints-feed.ts'
import { createFeed, type FeedContext } from '../../watch/feed.ts'
import type { WatchProblem } from '../../watch/problem.ts'
import { probeServer } from '../../watch/server-probe.ts'

export interface DnsWatcherOptions {
  readonly client: ApiClient
  readonly clock: Clock
  readonly random: Pick<Random, 'below'>
  readonly reporter: RequestReporter
  /** Called with changes in their order, never with an empty batch. */
  readonly onEvents: (batch: readonly ClusterEvent[]) => void
  /** Called once, when Services and endpoints were both listed. */
  readonly onSynced: () => void
  /** Called for an object that cannot be used, or only in part. */
  readonly onProblem: (problem: WatchProblem) => void
}

/** See `createDnsWatcher`. */
export interface DnsWatcher {
  /** Follows the cluster until `signal` is aborted. Rejects only for a bug in a callback. */
  run(signal: AbortSignal): Promise<void>
  states(): readonly ReflectorState[]
}

/**
 * Follows what has a name: every Service, whichever proxy serves it, and the endpoints of all of them. While
 * the API server cannot be reached, the names stay as they are.
 */
export function createDnsWatcher(options: DnsWatcherOptions): DnsWatcher {
  const { client, clock, random, reporter, onEvents, onSynced, onProblem } = options
  const context: FeedContext = { client, clock, random, timing: {}, onProblem, reporter }
  const waiting = new Set(['services', 'endpoints'])
  const listed = (name: string) => () => {
    if (waiting.delete(name) && waiting.size === 0) onSynced()
  }
  const services = createFeed<Service>(context, {
    name: 'services',
    resource: { path: '/api/v1/services', query: {} },
    decode: decodeService,
    onChanges: (changes) =>
      onEvents(
        changes.map(({ key, value }) => ({ kind: 'service', key: key as ServiceKey, value })),
      ),
    onListed: listed('services'),
  })
  const endpoints = createEndpointsFeed({
    ...{ context, onEvents, includeHeadless: true },
    onListed: listed('endpoints'),
  })
  const states = () => [services.state(), endpoints.state()].filter((one) => one !== undefined)
  return {
    states,
    run: (signal) =>
      runAll(
        [
          (end) => services.run(end),
          (end) => endpoints.run(end),
          (end) => probeServer({ client, clock, reporter, states }, end),
        ],
        signal,
      ),
  }
}

/** Runs all parts until `signal` is aborted; a bug in one ends the others too, and rejects. */
async function runAll(
  parts: readonly ((signal: AbortSignal) => Promise<unknown>)[],
  signal: AbortSignal,
): Promise<void> {
  const stop = new AbortController()
  const either = AbortSignal.any([signal, stop.signal])
  await Promise.all(parts.map((run) => run(either).finally(() => stop.abort())))
}
