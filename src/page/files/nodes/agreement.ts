import { BY_NAME } from '../text/by-name.ts'
import { formatCount, formatCountOf } from '../text/format.ts'

/** What one node has. */
export interface NodeValue<T> {
  readonly node: string
  readonly value: T
}

/** Nodes that have the same. */
export interface NodeGroup<T> {
  readonly value: T
  readonly nodes: readonly string[]
}

/** How far nodes have the same. */
export interface Agreement<T> {
  /** The most frequent value first; of equally frequent ones that of the node whose name comes first. */
  readonly groups: readonly NodeGroup<T>[]
  /** More than half of the nodes; undefined: no value is that frequent. The rule is that of `orchctl doctor --nodes`. */
  readonly usual: NodeGroup<T> | undefined
  /** Of how many nodes a value is known. */
  readonly known: number
}

export function agreementOf<T>(values: readonly NodeValue<T>[]): Agreement<T> {
  const ordered = values.toSorted((a, b) => BY_NAME.compare(a.node, b.node))
  const groups = [...Map.groupBy(ordered, ({ value }) => value)]
    .map(([value, members]) => ({ value, nodes: members.map(({ node }) => node) }))
    .toSorted((a, b) => b.nodes.length - a.nodes.length)
  const [first] = groups
  const isUsual = first !== undefined && first.nodes.length * 2 > values.length
  return { groups, usual: isUsual ? first : undefined, known: values.length }
}

/** `2 of 3 nodes` */
export function shareWords({ nodes }: NodeGroup<unknown>, known: number): string {
  return `${formatCount(nodes.length)} of ${formatCountOf(known, 'node')}`
}

/** Names and groups that are listed; of the others, the number is. */
const LISTED = 4

/** `nftables on node-1, node-2; ipvs on node-3` */
export function groupsWords<T>(
  groups: readonly NodeGroup<T>[],
  words: (value: T) => string,
): string {
  const texts = groups
    .slice(0, LISTED)
    .map(({ value, nodes }) => `${words(value)} on ${listedNames(nodes)}`)
  const more = groups.length - texts.length
  return [...texts, ...(more > 0 ? [`${formatCount(more)} other values`] : [])].join('; ')
}

/** The first names, and how many there are beside. */
export function listedNames(names: readonly string[]): string {
  const more = names.length - LISTED
  const named = names.slice(0, LISTED).join(', ')
  return more > 0 ? `${named} and ${formatCount(more)} more` : named
}
