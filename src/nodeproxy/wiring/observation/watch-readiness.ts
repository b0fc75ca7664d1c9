import type { ApiFailures } from '../../../client/http/failure/api-failures.ts'
import type { ReflectorState } from '../../../client/reflector/reflector-state.ts'
import type { ReadinessFacts } from '../../../telemetry/health/readiness.ts'
import type { WatchState } from '../../../watch/cluster-watcher.ts'
import { PROBE } from '../../../watch/server-probe.ts'
import { watchedResources } from '../../../watch/watched-resources.ts'

/** What readiness depends on of the watches. A Node that can only be fetched, not watched, counts as connected. */
export function watchReadiness(
  watch: WatchState,
  apiFailures: Pick<ApiFailures, 'describe'>,
): Pick<ReadinessFacts, 'connected' | 'synced' | 'apiFailures' | 'silence'> {
  const resources = watchedResources(watch)
  const of = (has: (feed: ReflectorState) => boolean) =>
    new Map(resources.map(({ resource, state }) => [resource, state !== undefined && has(state)]))
  const causes = resources.flatMap(({ resource }) => {
    // A failure before the discovery of the endpoints API counts for either of them.
    const either = resource === 'endpoints' ? apiFailures.describe('endpointslices') : undefined
    const cause = apiFailures.describe(resource) ?? either
    return cause === undefined ? [] : [[resource, cause] as const]
  })
  return {
    connected: of((feed) => feed.connected || feed.polled),
    synced: of((feed) => feed.listedAt !== undefined),
    apiFailures: new Map(causes),
    silence: apiFailures.describe(PROBE.resource),
  }
}
