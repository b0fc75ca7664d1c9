import type { Metrics } from '../../telemetry/metrics/metrics.ts'
import type { WatchState } from '../../watch/cluster-watcher.ts'

/** resourceVersions that have been seen, by the label of the metric. */
type Versions = ReadonlyMap<'services' | 'endpointslices' | 'endpoints' | 'nodes', number>

/** What the watches have handed over so far. */
export function seenVersions(state: WatchState): Versions {
  const endpoints = state.endpointsApi === 'v1' ? 'endpoints' : 'endpointslices'
  const seen = [
    ['services', state.services.resourceVersion],
    [endpoints, state.endpoints?.resourceVersion],
    ['nodes', state.node.resourceVersion],
  ] as const
  return new Map(
    seen.flatMap(([resource, version]) =>
      version === undefined || !/^\d+$/.test(version) ? [] : [[resource, Number(version)] as const],
    ),
  )
}

/** Their effect is in the kernel. */
export function publishApplied(metrics: Metrics, versions: Versions): void {
  for (const [resource, version] of versions) {
    metrics.appliedResourceVersion.set({ resource }, version)
  }
}
