import table from './table.json' with { type: 'json' }

/** One field of a message, on the wire and in JSON. */
export interface Field {
  /** Its name in JSON. */
  readonly name: string
  /** Its field number in the message that contains it on the wire. */
  readonly number: number
  /**
   * `string`, `bool`, `int32`, `int64`, `bytes` (base64 in JSON), or the name of a message; for lists and maps
   * the type of the elements or values.
   */
  readonly type: string
  /** `inline`: a message on the wire whose fields are on the same level as the others in JSON. */
  readonly shape: 'one' | 'repeated' | 'map' | 'inline'
  /**
   * The meaning of a zero scalar. `implicit`: the same as absent. `optional`: zero. `always`: zero, and typed
   * clients always write the field.
   */
  readonly presence: 'implicit' | 'optional' | 'always'
}

/** Every message of the schema, in alphabetical order. */
export const messages = readTable(table as never)

/**
 * The form of `table.json`: for each message and field its number and type. The type may have the prefix
 * `repeated`, `map`, `inline`, `optional` or `always`.
 */
type Table = Readonly<Record<string, Readonly<Record<string, readonly [number, string]>>>>

interface Message {
  readonly byNumber: ReadonlyMap<number, Field>
  readonly byName: ReadonlyMap<string, Field>
}

function readTable(table: Table): ReadonlyMap<string, Message> {
  const wire = new Map(Object.entries(table).map(([name, row]) => [name, readRow(row)]))
  const messages = new Map<string, Message>()
  for (const [name, fields] of wire) {
    const byNumber = new Map(fields.map((field) => [field.number, field]))
    const byName = new Map(inJson(wire, fields).map((field) => [field.name, field]))
    messages.set(name, { byNumber, byName })
  }
  return messages
}

function readRow(row: Table[string]): readonly Field[] {
  return Object.entries(row).map(([name, [number, text]]) => {
    const space = text.indexOf(' ')
    const prefix = text.slice(0, Math.max(space, 0))
    const type = text.slice(space + 1)
    return { name, number, type, shape: shapeOf(prefix), presence: presenceOf(prefix) }
  })
}

function shapeOf(prefix: string): Field['shape'] {
  return prefix === 'repeated' || prefix === 'map' || prefix === 'inline' ? prefix : 'one'
}

function presenceOf(prefix: string): Field['presence'] {
  return prefix === 'optional' || prefix === 'always' ? prefix : 'implicit'
}

/** The fields, with inline messages replaced by their fields. */
function inJson(
  wire: ReadonlyMap<string, readonly Field[]>,
  fields: readonly Field[],
): readonly Field[] {
  return fields.flatMap((field) =>
    field.shape === 'inline' ? inJson(wire, wire.get(field.type) ?? []) : [field],
  )
}
