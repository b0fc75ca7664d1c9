import type { Candidate } from './backends.ts'
import type { NodeContext } from './node-context.ts'

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
): readonly Candidate[] {
  return (
    hinted(ready, node.name, ({ endpoint }) => endpoint.nodeHints) ??
    hinted(ready, node.zone, ({ endpoint }) => endpoint.zoneHints) ??
    ready
  )
}

function hinted(
  ready: readonly Candidate[],
  place: string | undefined,
  hintsOf: (candidate: Candidate) => readonly string[] | undefined,
): readonly Candidate[] | undefined {
  if (place === undefined) return undefined
  if (!ready.every((candidate) => (hintsOf(candidate)?.length ?? 0) > 0)) return undefined
  const near = ready.filter((candidate) => hintsOf(candidate)?.includes(place))
  return near.length > 0 ? near : undefined
}
