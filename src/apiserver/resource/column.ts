import { shortDuration } from '../../lib/duration.ts'
import { type JsonObject, stringAt } from '../../lib/json.ts'

/** One column of the table that a client prints: its definition and the cell of an object. */
export interface Column {
  readonly name: string
  readonly type: 'string' | 'integer'
  readonly format: '' | 'name'
  readonly description: string
  /** 0: always shown; 1: wide output only. */
  readonly priority: 0 | 1
  readonly cell: (object: JsonObject, now: number) => string | number
}

/** An always-shown string column. */
export function column(
  name: string,
  description: string,
  cell: (object: JsonObject, now: number) => string | number,
): Column {
  return { name, type: 'string', format: '', description, priority: 0, cell }
}

/** An always-shown column of whole numbers. */
export function numberColumn(
  name: string,
  description: string,
  cell: (object: JsonObject) => number,
): Column {
  return { ...column(name, description, cell), type: 'integer' }
}

/** A string column of wide output. */
export function wideColumn(
  name: string,
  description: string,
  cell: (object: JsonObject, now: number) => string | number,
): Column {
  return { ...column(name, description, cell), priority: 1 }
}

/** `NAME` of every table. */
export const nameColumn: Column = {
  ...column('Name', 'Name of the object, unique in its namespace.', (object) =>
    stringAt(object, 'metadata', 'name'),
  ),
  format: 'name',
}

/** `AGE` of every table. */
export const ageColumn: Column = column(
  'Age',
  'Time since the object was created.',
  (object, now) => {
    const created = Date.parse(stringAt(object, 'metadata', 'creationTimestamp'))
    return Number.isNaN(created) ? '<unknown>' : shortDuration((now - created) / 1000)
  },
)
