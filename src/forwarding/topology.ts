import type { Candidate } from './backends.ts'
import type { NodeContext } from './node-context.ts'

/**
 * Why hints of one kind are ignored: the zone of this node is unknown, not every ready endpoint has a hint, or no hint
 * is for this node or zone.
 */
export type IgnoredHints = 'unknownPlace' | 'incomplete' | 'noneHere'

/** The ready endpoints that this node should use, and how they were chosen. */
export interface Nearness {
  readonly chosen: readonly Candidate[]
  /** The hints that were used; undefined if all ready endpoints were chosen without hints. */
  readonly by: 'nodeHints' | 'zoneHints' | undefined
  /** Why zone hints are ignored; undefined if zone or node hints are used. */
  readonly ignored: IgnoredHints | undefined
}

/**
 * Selects the ready endpoints of the cluster that this node should use: those with a hint for this node, else those
 * with a hint for its zone, else all. Hints of one kind are used only if every ready endpoint has one and at least one
 * is for this node (or zone). Incomplete or outdated hints must neither leave a node without endpoints nor direct its
 * traffic to only a few.
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
