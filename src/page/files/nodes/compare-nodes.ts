import type { StatusMessage } from '../data/messages.ts'
import { formatCount } from '../text/format.ts'
import { type Agreement, agreementOf, groupsWords, shareWords } from './agreement.ts'
import type { NodeReading } from './node-reading.ts'

type Value = string | number

interface Field {
  readonly name: string
  /** A value with the name of the field. */
  readonly words: (value: Value) => string
  readonly valueOf: (status: StatusMessage) => Value
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
