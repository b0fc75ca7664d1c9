import type { Candidate } from './backends.ts'
import type { NodeContext } from './node-context.ts'

/**
 * Why hints of one kind are ignored: the node's own name or zone is unknown, not every ready endpoint has a hint, or
 * no hint is for this node or zone.
 */
export type IgnoredHints = 'unknownPlace' | 'incomplete' | 'noneHere'

/** The ready endpoints that this node should use, and how they were chosen. */
export interface Nearness {
  readonly chosen: readonly Candidate[]
  /** Undefined if no hints were used. */
  readonly by: 'nodeHints' | 'zoneHints' | undefined
  /** Why zone hints are ignored; undefined if zone or node hints are used. */
  readonly ignored: IgnoredHints | undefined
}

/**
 * Which ready endpoints of the cluster this node should use: those hinted for
 * the node, else those hinted for its zone, else all. A kind of hint counts only
 * when every ready endpoint carries it and at least one names this node (or
 * zone): a half-written or stale set of hints must neither leave a node
 * without endpoints nor concentrate its load on a few.
 */
export function preferNear(
  ready: readonly Candidate[],
  node: Pick<NodeContext, 'name' | 'zone'>,
): Nearness {
  const ofNode = hinted(ready, node.name, ({ endpoint }) => endpoint.nodeHints)
  if (typeof ofNode !== 'string') return { chosen: ofNode, by: 'nodeHints', ignored: undefined }
  const ofZone = hinted(ready, node.zone, ({ endpoint }) => endpoint.zoneHints)
  if (typeof ofZone !== 'string') return { chosen: ofZone, by: 'zoneHints', ignored: undefined }
  return { chosen: ready, by: undefined, ignored: ofZone }
}

function hinted(
  ready: readonly Candidate[],
  place: string | undefined,
  hintsOf: (candidate: Candidate) => readonly string[] | undefined,
): readonly Candidate[] | IgnoredHints {
  if (place === undefined) return 'unknownPlace'
  if (!ready.every((candidate) => (hintsOf(candidate)?.length ?? 0) > 0)) return 'incomplete'
  const near = ready.filter((candidate) => hintsOf(candidate)?.includes(place))
  return near.length > 0 ? near : 'noneHere'
}
