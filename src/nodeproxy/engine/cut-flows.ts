import type { StaleFlows } from '../../forwarding/entry.ts'
import type { Conntrack, FlowFilter } from '../../kernel/conntrack/conntrack.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Metrics } from '../../telemetry/metrics/metrics.ts'

export interface CutFlowsParts {
  readonly conntrack: Conntrack
  readonly metrics: Pick<Metrics, 'conntrackDuration' | 'conntrackDeleted'>
  readonly clock: Pick<Clock, 'now'>
  /** The ports on which this process forwards in userspace mode; undefined in other modes. */
  readonly ownPorts?: ReadonlySet<number> | undefined
}

/**
 * Deletes stale conntrack entries of both families. For each family, reports to `metrics` how long this took and how
 * many entries were deleted.
 * @returns the number of deleted entries
 * @throws NP_KERNEL_NETLINK if the conntrack table could not be read
 */
export async function cutFlows(
  flows: readonly StaleFlows[],
  { conntrack, metrics, clock, ownPorts }: CutFlowsParts,
): Promise<number> {
  let total = 0
  for (const family of [4, 6] as const) {
    const ofFamily = flowFilters(
      flows.filter((flow) => flow.family === family),
      ownPorts,
    )
    if (ofFamily.length === 0) continue
    const ip_family = `IPv${family}`
    const startedAt = clock.now()
    const { deleted } = await conntrack.cut(ofFamily)
    metrics.conntrackDuration.observe({ ip_family }, (clock.now() - startedAt) / 1_000)
    metrics.conntrackDeleted.inc({ ip_family }, deleted)
    total += deleted
  }
  return total
}

/**
 * The conntrack entries to delete. Those that translate to one of `ownPorts` are kept while the frontend has backends,
 * because the process that listens there itself moves its clients to other backends.
 */
export function flowFilters(
  flows: readonly StaleFlows[],
  ownPorts: ReadonlySet<number> | undefined,
): readonly FlowFilter[] {
  return flows.map((flow) => (ownPorts && flow.keep.size > 0 ? { ...flow, ownPorts } : flow))
}
