import { readTable } from './read-table.ts'
import table from './table.json' with { type: 'json' }

/** Every message of the schema, in alphabetical order. */
export const messages = readTable(table as never)
