import type { Finding } from './evidence/finding.ts'
import type { NodeEvidence } from './evidence/node-check.ts'
import { NODE_CHECKS } from './node-checks.ts'

/** Nodes that are named one by one. */
const MAX_NAMES = 5

/**
 * What is wrong on nodes, in the order of `NODE_CHECKS`. A cause that several nodes have in the same words is one
 * finding, about the first of them. Where other nodes do not have it, the evidence names them: what differs there helps.
 */
export function diagnoseNodes(nodes: NodeEvidence): readonly Finding[] {
  return NODE_CHECKS.flatMap((check) => {
    const found = check.find(nodes)
    const groups = Map.groupBy(found, ({ cause }) => cause)
    const having = new Set(found.map(({ object }) => object))
    const others = [...nodes.keys()].filter((name) => !having.has(`node/${name}`))
    return [...groups.values()].flatMap((group) => merged(group, others))
  })
}

function merged(group: readonly Finding[], others: readonly string[]): readonly Finding[] {
  const [first, ...more] = group
  if (first === undefined) return []
  const affects = new Set([
    ...more.map(({ object }) => object),
    ...group.flatMap((one) => one.affects),
  ])
  const evidence = [
    ...first.evidence,
    ...(more.length === 0
      ? []
      : [`the same on ${more.length} more ${more.length === 1 ? 'node' : 'nodes'}`]),
    ...(others.length === 0 ? [] : [`not so on ${namesOf(others)}`]),
  ]
  return [{ ...first, affects: [...affects], evidence }]
}

function namesOf(nodes: readonly string[]): string {
  const names = nodes.slice(0, MAX_NAMES).join(', ')
  return nodes.length > MAX_NAMES ? `${names} and ${nodes.length - MAX_NAMES} more nodes` : names
}
