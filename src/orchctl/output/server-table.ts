import {
  arrayAt,
  isJsonObject,
  type Json,
  type JsonObject,
  objectAt,
  scalarText,
  stringAt,
  valueAt,
} from '../../lib/json.ts'
import { oneLine } from './terminal-text.ts'

const GAP = 3

/** The Accept header of tables, which the server renders (meta.k8s.io/v1). */
export const TABLE_ACCEPT = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'

export interface TableColumn {
  readonly name: string
  /** 0: always shown; more: with `-o wide`. */
  readonly priority: number
}

/** A row and its object, which has at least the metadata. */
export interface TableRow {
  readonly cells: readonly string[]
  readonly object: JsonObject
}

export interface ServerTable {
  readonly columns: readonly TableColumn[]
  readonly rows: readonly TableRow[]
  readonly resourceVersion: string
  /** The token of the next page; empty: this is the last one. */
  readonly continueToken: string
}

/** A Table of the server; for a server without tables, one with the names and ages of the objects. */
export function readTable(body: JsonObject): ServerTable {
  const page = {
    resourceVersion: stringAt(body, 'metadata', 'resourceVersion'),
    continueToken: stringAt(body, 'metadata', 'continue'),
  }
  if (stringAt(body, 'kind') !== 'Table') return { ...plainTable(body), ...page }
  return {
    columns: arrayAt(body, 'columnDefinitions').map((column) => ({
      name: stringAt(column, 'name'),
      priority: Number(valueAt(column, 'priority') ?? 0),
    })),
    rows: arrayAt(body, 'rows').map((row) => ({
      cells: arrayAt(row, 'cells').map(cellText),
      object: objectAt(row, 'object'),
    })),
    ...page,
  }
}

function cellText(cell: Json): string {
  if (cell === null) return '<none>'
  return typeof cell === 'object' ? JSON.stringify(cell) : scalarText(cell)
}

function plainTable(body: JsonObject): Pick<ServerTable, 'columns' | 'rows'> {
  const items = Array.isArray(body['items']) ? arrayAt(body, 'items').filter(isJsonObject) : [body]
  return {
    columns: ['Name', 'Created At'].map((name) => ({ name, priority: 0 })),
    rows: items.map((object) => ({
      object,
      cells: ['name', 'creationTimestamp'].map((field) => stringAt(object, 'metadata', field)),
    })),
  }
}

/**
 * Rows of cells as lines with columns three spaces apart, as kubectl prints tables. `widths` of earlier rows keep
 * the columns of a watch in line; they grow with these rows.
 */
export function columns(rows: readonly (readonly string[])[], widths: number[] = []): string {
  const safe = rows.map((row) => row.map(oneLine))
  for (const row of safe) {
    for (const [index, cell] of row.entries()) {
      widths[index] = Math.max(widths[index] ?? 0, length(cell))
    }
  }
  return safe.map((row) => line(row, widths)).join('')
}

function line(row: readonly string[], widths: readonly number[]): string {
  const cells = row.map((cell, index) => {
    if (index === row.length - 1) return cell
    return cell + ' '.repeat(Math.max((widths[index] ?? 0) - length(cell), 0) + GAP)
  })
  return `${cells.join('').trimEnd()}\n`
}

/** The number of code points, of which some take two units of a string. */
function length(text: string): number {
  return Array.from(text).length
}
