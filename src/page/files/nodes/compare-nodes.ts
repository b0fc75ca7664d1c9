import type { StatusMessage } from '../data/messages.ts'
import { formatCount } from '../text/format.ts'
import { majorityOf } from './most-frequent.ts'
import type { NodeReading } from './node-reading.ts'

/** What more than half of the nodes have; undefined: no value is that frequent. */
export type UsualValues = Readonly<Record<Field, string | number | undefined>>

type Field = 'mode' | 'version' | 'services' | 'entries'

const FIELDS: readonly (readonly [
  field: Field,
  words: (value: string | number) => string,
  valueOf: (status: StatusMessage) => string | number,
])[] = [
  ['mode', (mode) => `mode ${mode}`, ({ mode = '' }) => mode],
  ['version', (version) => `version ${version}`, ({ version = '' }) => version],
  ['services', (count) => `${formatCount(Number(count))} Services`, ({ services = 0 }) => services],
  ['entries', (count) => `${formatCount(Number(count))} ports`, ({ entries = 0 }) => entries],
]

export function usualValues(readings: Iterable<NodeReading>): UsualValues {
  const statuses = [...readings].flatMap(({ status, failure }) =>
    status === undefined || failure !== undefined ? [] : [status],
  )
  const usual = FIELDS.map(([field, , valueOf]) => [field, majorityOf(statuses.map(valueOf))])
  return Object.fromEntries(usual) as UsualValues
}

/**
 * Where a node is otherwise than most: one text for each. Nodes are read one after the other, so a value counts that
 * differs in the last two readings.
 */
export function differencesOf(
  { status, before }: NodeReading,
  usual: UsualValues,
): readonly string[] {
  if (status === undefined) return []
  return FIELDS.flatMap(([field, words, valueOf]) => {
    const [now, most] = [valueOf(status), usual[field]]
    const last = before === undefined ? now : valueOf(before)
    if (most === undefined || now === most || last === most) return []
    return [`${words(now)}, most nodes have ${typeof most === 'number' ? formatCount(most) : most}`]
  })
}
