import type { Metrics } from '../../../telemetry/metrics/metrics.ts'
import type { WatchState } from '../../../watch/cluster-watcher.ts'
import { type WatchedResource, watchedResources } from '../../../watch/watched-resources.ts'

/** resourceVersions that have been seen, by the label of the metric. */
type Versions = ReadonlyMap<WatchedResource['resource'], number>

/** What the watches have handed over so far. */
export function seenVersions(state: WatchState): Versions {
  return new Map(
    watchedResources(state).flatMap(({ resource, state: { resourceVersion = '' } = {} }) =>
      /^\d+$/.test(resourceVersion) ? [[resource, Number(resourceVersion)] as const] : [],
    ),
  )
}

/** Their effect is in the kernel. */
export function publishApplied(metrics: Metrics, versions: Versions): void {
  for (const [resource, version] of versions) {
    metrics.appliedResourceVersion.set({ resource }, version)
  }
}
