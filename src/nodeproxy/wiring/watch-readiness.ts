import type { ApiFailures } from '../../client/api-failures.ts'
import type { ReflectorState } from '../../client/reflector-state.ts'
import type { ReadinessFacts } from '../../telemetry/health/readiness.ts'
import type { WatchState } from '../../watch/cluster-watcher.ts'
import { PROBE } from '../../watch/server-probe.ts'

/** What readiness needs to know of the API server. A node that may only be fetched is followed, too. */
export function watchReadiness(
  { services, endpoints, node }: WatchState,
  apiFailures: Pick<ApiFailures, 'describe'>,
): Pick<ReadinessFacts, 'connected' | 'synced' | 'apiFailures' | 'silence'> {
  const feeds = Object.entries({ services, endpoints, nodes: node })
  const of = (has: (feed: ReflectorState) => boolean) =>
    new Map(feeds.map(([name, feed]) => [name, feed !== undefined && has(feed)]))
  const causes = feeds.map(([name]) => [name, apiFailures.describe(name)] as const)
  return {
    connected: of((feed) => feed.connected || feed.polled),
    synced: of((feed) => feed.listedAt !== undefined),
    apiFailures: new Map(
      causes.filter((cause): cause is [string, string] => cause[1] !== undefined),
    ),
    silence: apiFailures.describe(PROBE.resource),
  }
}
