import type { Field } from './field.ts'

/**
 * How `table.json` is written: per message and field the number and the type.
 * Before the type may stand `repeated`, `map`, `inline`, `optional` or `always`.
 */
export type Table = Readonly<Record<string, Readonly<Record<string, readonly [number, string]>>>>

export interface Message {
  readonly byNumber: ReadonlyMap<number, Field>
  readonly byName: ReadonlyMap<string, Field>
}

export function readTable(table: Table): ReadonlyMap<string, Message> {
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
