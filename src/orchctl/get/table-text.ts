import { objectAt, scalarText, stringAt, valueAt } from '../../lib/json.ts'
import { columns, type ServerTable, type TableRow } from '../output/server-table.ts'
import type { GetFlags } from './get-flags.ts'

/** How tables are printed. */
export interface TableStyle {
  readonly flags: GetFlags
  readonly isWide: boolean
  /** Such as `service`: written before each name; empty: nothing. */
  readonly prefix: string
  readonly showNamespace: boolean
  /** Whether the first column is the kind of change. */
  readonly showEvents: boolean
}

/** A row, and what happened to its object. */
export interface EventRow extends TableRow {
  readonly event?: string
}

/** The text of rows. `widths` keeps columns of several texts in line. */
export function tableText(
  table: Pick<ServerTable, 'columns'> & { readonly rows: readonly EventRow[] },
  style: TableStyle,
  withHeader: boolean,
  widths?: number[],
): string {
  const shown = table.columns.map(({ priority }) => style.isWide || priority === 0)
  const keys = (style.flags.labelColumns ?? '').split(',').filter((key) => key !== '')
  const names = table.columns.filter((_, index) => shown[index]).map(({ name }) => name)
  const header = [
    ...(style.showEvents ? ['EVENT'] : []),
    ...(style.showNamespace ? ['NAMESPACE'] : []),
    ...names.map((name) => name.toUpperCase()),
    ...keys.map((key) => (key.split('/').at(-1) ?? '').toUpperCase()),
    ...(style.flags.showLabels === true ? ['LABELS'] : []),
  ]
  const rows = table.rows.map((row) => cellsOf(row, shown, keys, style))
  return columns(withHeader ? [header, ...rows] : rows, widths)
}

function cellsOf(
  { cells, object, event = '' }: EventRow,
  shown: readonly boolean[],
  keys: readonly string[],
  { showEvents, showNamespace, prefix, flags }: TableStyle,
): readonly string[] {
  const labels = objectAt(object, 'metadata', 'labels')
  const named = cells.map((cell, index) => {
    return index === 0 && prefix !== '' ? `${prefix}/${cell}` : cell
  })
  return [
    ...(showEvents ? [event] : []),
    ...(showNamespace ? [stringAt(object, 'metadata', 'namespace')] : []),
    ...named.filter((_, index) => shown[index]),
    ...keys.map((key) => scalarText(valueAt(labels, key))),
    ...(flags.showLabels === true ? [labelText(labels)] : []),
  ]
}

function labelText(labels: ReturnType<typeof objectAt>): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${scalarText(value)}`)
  return pairs.length === 0 ? '<none>' : pairs.sort().join(',')
}
