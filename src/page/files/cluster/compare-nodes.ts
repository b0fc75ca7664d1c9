import type { StatusResponseJson } from '../../../inspection/generated/inspection_pb.ts'
import { BY_NAME, formatCount, formatCountOf } from '../display/format.ts'
import type { NodeReading } from './node-reading.ts'

type Value = string | number

interface Field {
  readonly name: string
  /** A value with the name of the field. */
  readonly words: (value: Value) => string
  readonly valueOf: (status: StatusResponseJson) => Value
}

const FIELDS: readonly Field[] = [
  { name: 'mode', words: (mode) => `mode ${mode}`, valueOf: ({ mode = '' }) => mode },
  {
    name: 'version',
    words: (version) => `version ${version}`,
    valueOf: ({ version = '' }) => version,
  },
  {
    name: 'number of Services',
    words: (count) => `${short(count)} Services`,
    valueOf: ({ services = 0 }) => services,
  },
  {
    name: 'number of ports',
    words: (count) => `${short(count)} ports`,
    valueOf: ({ entries = 0 }) => entries,
  },
]

/** How far the nodes that answer have the same value of one field. */
interface Compared extends Field {
  readonly agreement: Agreement<Value>
  /** No value has a majority, neither in the last reading nor in the one before; nodes are read one after the other. */
  readonly isDisputed: boolean
}

export type Comparison = readonly Compared[]

export function compareNodes(
  readings: Iterable<readonly [node: string, reading: NodeReading]>,
): Comparison {
  const read = [...readings].flatMap(([node, { status, before, failure }]) =>
    status === undefined || failure !== undefined ? [] : [{ node, status, before }],
  )
  return FIELDS.map((field) => {
    const { valueOf } = field
    const agreement = agreementOf(
      read.map(({ node, status }) => ({ node, value: valueOf(status) })),
    )
    const recent = read.flatMap(({ status, before = status }) => [
      ...new Set([valueOf(status), valueOf(before)]),
    ])
    const [most = []] = [...Map.groupBy(recent, (value) => value).values()].toSorted(
      (a, b) => b.length - a.length,
    )
    return { ...field, agreement, isDisputed: most.length * 2 <= read.length && read.length > 0 }
  })
}

/**
 * One text for each field in which a node differs from most, or for which no value has a majority. Because nodes are
 * read one after the other, a difference counts only if it is in the last two readings.
 */
export function differencesOf(reading: NodeReading, comparison: Comparison): readonly string[] {
  const { status, before = status } = reading
  if (status === undefined || before === undefined) return []
  return comparison.flatMap(({ words, valueOf, agreement, isDisputed }) => {
    const [now, last] = [valueOf(status), valueOf(before)]
    const { usual, groups, known } = agreement
    if (usual !== undefined) {
      if (now === usual.value || last === usual.value) return []
      return [`${words(now)}; ${shareWords(usual, known)} have ${short(usual.value)}`]
    }
    const own = groups.find(({ value }) => value === now)
    if (!isDisputed || own === undefined) return []
    return [`${words(now)}; the nodes disagree: ${shareWords(own, known)} have it`]
  })
}

/** Each field of which most nodes do not share a value, with the nodes that have each value. */
export function disagreements(comparison: Comparison): readonly string[] {
  return comparison
    .filter(({ isDisputed, agreement }) => isDisputed && agreement.usual === undefined)
    .map(({ name, agreement }) => `${name}: ${groupsWords(agreement.groups, short)}`)
}

function short(value: Value): string {
  return typeof value === 'number' ? formatCount(value) : value
}

/** What one node has. */
export interface NodeValue<T> {
  readonly node: string
  readonly value: T
}

/** Nodes that have the same. */
interface NodeGroup<T> {
  readonly value: T
  readonly nodes: readonly string[]
}

/** How far nodes have the same. */
interface Agreement<T> {
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
