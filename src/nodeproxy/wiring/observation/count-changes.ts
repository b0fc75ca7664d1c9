import type { ClusterEvent } from '../../../cluster/cluster-event.ts'
import type { Metrics } from '../../../telemetry/metrics/metrics.ts'
import type { ChangeTimes } from './change-times.ts'

/** Where changes are counted. */
export interface CountChangesParts {
  readonly metrics: Pick<Metrics, 'serviceChanges' | 'endpointChanges'>
  readonly changeTimes: Pick<ChangeTimes, 'note'>
  /** Milliseconds since the epoch. The times of earlier changes are ignored, as they do not measure this daemon. */
  readonly startedAt: number
}

/** Counts changes of Services and endpoints, and notes when they happened. */
export function countChanges(
  events: readonly ClusterEvent[],
  { metrics, changeTimes, startedAt }: CountChangesParts,
): void {
  for (const event of events) {
    if (event.kind === 'service') {
      metrics.serviceChanges.inc()
      changeTimes.note('service')
    }
    if (event.kind !== 'endpoints') continue
    metrics.endpointChanges.inc()
    const at = event.value?.triggeredAt
    changeTimes.note('endpoints', at !== undefined && at > startedAt ? at : undefined)
  }
}
