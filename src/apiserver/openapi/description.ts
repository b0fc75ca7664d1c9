import descriptions from './descriptions.json' with { type: 'json' }

type Descriptions = Readonly<Record<string, Readonly<Record<string, string>>>>

/** By message, then by field; the message itself stands under the empty name. */
const table: ReadonlyMap<string, ReadonlyMap<string, string>> = new Map(
  Object.entries(descriptions as Descriptions).map(([message, fields]) => [
    message,
    new Map(Object.entries(fields)),
  ]),
)

/** Every object has these. */
const everywhere: ReadonlyMap<string, string> = new Map([
  ['apiVersion', 'The group and version in which this object is written.'],
  ['kind', 'What sort of object this is.'],
  ['metadata', 'Name, labels and what else every object has.'],
])

/** One sentence about a message, or about one of its fields. */
export function descriptionOf(message: string, field = ''): string | undefined {
  return table.get(message)?.get(field) ?? everywhere.get(field)
}
