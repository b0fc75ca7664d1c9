import { BY_NAME } from '../text/by-name.ts'
import { formatCount, formatCountOf } from '../text/format.ts'

/** The value of one node. */
export interface NodeValue<T> {
  readonly node: string
  readonly value: T
}

/** Nodes with the same value. */
export interface NodeGroup<T> {
  readonly value: T
  readonly nodes: readonly string[]
}

/** How far nodes have the same value. */
export interface Agreement<T> {
  /** The most frequent value first; equally frequent ones by the first name of their nodes. */
  readonly groups: readonly NodeGroup<T>[]
  /** The value of more than half of the nodes; undefined: there is none. `orchctl doctor --nodes` has the same rule. */
  readonly usual: NodeGroup<T> | undefined
  /** The number of nodes whose value is known. */
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

/** The most names, and the most groups, that are listed; the others are counted. */
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

/** The first names, and the number of the others. */
export function listedNames(names: readonly string[]): string {
  const more = names.length - LISTED
  const named = names.slice(0, LISTED).join(', ')
  return more > 0 ? `${named} and ${formatCount(more)} more` : named
}
