import type { ChangeJson } from '../../../inspection/generated/inspection_pb.ts'

/** One change that reached the kernel. */
export interface LatencyPoint {
  readonly service: string
  /** Milliseconds since the epoch. */
  readonly at: number
  /** From the compilation of the Service to the end of the run that wrote it. */
  readonly ms: number
  readonly objects: number
  readonly hasFailures: boolean
}

/** The most points that are kept. */
const MAX_POINTS = 4_000
/** A logarithmic axis has no zero. */
const MIN_MS = 0.5

/** Adds changes to points, and drops the oldest points beyond the limit. */
export function addChanges(
  points: readonly LatencyPoint[],
  changes: readonly ChangeJson[],
): readonly LatencyPoint[] {
  return [...points, ...changes.map(pointOf)].slice(-MAX_POINTS)
}

function pointOf(change: ChangeJson): LatencyPoint {
  const { service = '', objects = 0, hasFailures = false } = change
  const at = Number(change.appliedAt ?? 0)
  return { service, at, ms: Math.max(0, at - Number(change.compiledAt ?? 0)), objects, hasFailures }
}

/** Times in seconds, and latencies in milliseconds of changes that were written and of those with a refusal. */
export type LatencyColumns = [at: number[], fine: (number | null)[], failed: (number | null)[]]

/** The columns of a plot, in the order of time. */
export function latencyColumns(points: readonly LatencyPoint[]): LatencyColumns {
  const sorted = points.toSorted((a, b) => a.at - b.at)
  const column = (hasFailures: boolean) =>
    sorted.map((one) => (one.hasFailures === hasFailures ? Math.max(MIN_MS, one.ms) : null))
  return [sorted.map(({ at }) => at / 1_000), column(false), column(true)]
}

/** The latency that `share` of the points do not exceed; undefined: there is no point. */
export function percentile(points: readonly LatencyPoint[], share: number): number | undefined {
  const sorted = points.map(({ ms }) => ms).toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]
}
