import table from './table.json' with { type: 'json' }

/** One field of a message, on the wire and in JSON. */
export interface Field {
  /** Its name in JSON. */
  readonly name: string
  /** Its number on the wire, within the message that holds it there. */
  readonly number: number
  /**
   * `string`, `bool`, `int32`, `int64`, `bytes` (base64 in JSON), or the name of a message; of the
   * elements or values where there are several.
   */
  readonly type: string
  /** `inline`: a message on the wire whose fields stand beside the others in JSON. */
  readonly shape: 'one' | 'repeated' | 'map' | 'inline'
  /**
   * What a zero scalar means: `implicit`, the same as none; `optional`, itself;
   * `always`, itself, and every typed client writes the field.
   */
  readonly presence: 'implicit' | 'optional' | 'always'
}

/** Every message of the schema, in alphabetical order. */
export const messages = readTable(table as never)

/**
 * How `table.json` is written: per message and field the number and the type.
 * Before the type may stand `repeated`, `map`, `inline`, `optional` or `always`.
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

/** The fields with those of inline messages in their place. */
function inJson(
  wire: ReadonlyMap<string, readonly Field[]>,
  fields: readonly Field[],
): readonly Field[] {
  return fields.flatMap((field) =>
    field.shape === 'inline' ? inJson(wire, wire.get(field.type) ?? []) : [field],
  )
}
