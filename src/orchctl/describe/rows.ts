import { type Json, scalarText } from '../../lib/json.ts'
import { oneLine } from '../output/terminal-text.ts'

/** What is printed after or below a label. */
export type Cell =
  /** A text after the label, aligned if it has several lines; an empty text prints nothing. */
  | string
  /** A list: the first text after the label, the others below; an empty list prints `<none>`. */
  | readonly string[]
  /** Rows below the label. */
  | { readonly rows: readonly Row[] }
  /** Groups of rows below the label, each after a dash. */
  | { readonly items: readonly (readonly Row[])[] }
  /** A table below the label, whose first row is the header; without further rows, `<none>` after the label. */
  | {
      readonly table: readonly (readonly string[])[]
      readonly behind?: string
      /** A line above the header. */
      readonly note?: string
    }
  /** Lines below the label. */
  | { readonly lines: readonly string[] }

/** A label without its colon, and what belongs to it; undefined: the row is left out. */
export type Row = readonly [label: string, cell: Cell | undefined]

/** A map as `key=value` or `key: value`, sorted. */
export function pairs(map: Readonly<Record<string, unknown>>, between = '='): readonly string[] {
  return Object.entries(map)
    .map(([key, value]) => `${key}${between}${String(value)}`)
    .toSorted()
}

/** The text, or `otherwise` where it is empty. */
export function orElse(text: string, otherwise: string): string {
  return text === '' ? otherwise : text
}

/** Orders rows by their labels. */
export function byLabel([one]: Row, [other]: Row): number {
  return one < other ? -1 : 1
}

/** A scalar as text; undefined where it is empty, so that its row is left out. */
export function optional(value: Json | undefined): string | undefined {
  const text = scalarText(value)
  return text === '' ? undefined : text
}

/** Rows as text, their values in one column. */
export function rowsText(rows: readonly Row[], indent = ''): string {
  const shown = rows.filter(([, cell]) => cell !== undefined)
  const width = Math.max(0, ...shown.filter(isInline).map(([label]) => label.length)) + 3
  return shown.map(([label, cell]) => rowText(oneLine(label), cell!, { indent, width })).join('')
}

interface Indentation {
  readonly indent: string
  /** The width of a label with its colon and the gap after it. */
  readonly width: number
}

/** Whether something is printed after the label. */
function isInline([, cell]: Row): boolean {
  if (cell === undefined || typeof cell === 'string' || isTexts(cell)) return true
  if ('rows' in cell) return cell.rows.length === 0
  if ('items' in cell) return cell.items.length === 0
  return 'table' in cell && (cell.table.length < 2 || cell.behind !== undefined)
}

function rowText(label: string, cell: Cell, { indent, width }: Indentation): string {
  const head = `${indent}${label}:`
  const inline = (lines: readonly string[]): string => {
    const rest = lines.flatMap((line) => line.replace(/\n$/, '').split('\n')).map(oneLine)
    const below = `\n${indent}${' '.repeat(width)}`
    return `${`${head.padEnd(indent.length + width)}${rest.join(below)}`.trimEnd()}\n`
  }
  if (typeof cell === 'string') return inline([cell])
  if (isTexts(cell)) return inline(cell.length === 0 ? ['<none>'] : cell)
  const inner = `${indent}  `
  if ('rows' in cell) {
    return cell.rows.length === 0 ? inline(['<none>']) : `${head}\n${rowsText(cell.rows, inner)}`
  }
  if ('lines' in cell) {
    return `${head}\n${cell.lines.map((line) => `${inner}${oneLine(line)}\n`).join('')}`
  }
  if ('items' in cell) {
    if (cell.items.length === 0) return inline(['<none>'])
    const items = cell.items.map((rows) => `${inner}- ${rowsText(rows, `${inner}  `).trimStart()}`)
    return `${head}\n${items.join('')}`
  }
  if (cell.table.length < 2) return inline(['<none>'])
  const behind = cell.behind === undefined ? `${head}\n` : inline([cell.behind])
  const note = cell.note === undefined ? '' : `${inner}${cell.note}\n`
  return behind + note + tableText(cell.table, inner)
}

function isTexts(cell: Cell): cell is readonly string[] {
  return Array.isArray(cell)
}

/** The header is underlined, and columns are two spaces apart. */
function tableText([header = [], ...rows]: readonly (readonly string[])[], indent: string): string {
  const rule = header.map((title) => '-'.repeat(title.length))
  const all = [header, rule, ...rows].map((row) => row.map(oneLine))
  const widths = header.map((_, index) => Math.max(...all.map((row) => (row[index] ?? '').length)))
  const line = (row: readonly string[]): string =>
    row.map((text, index) => text.padEnd(widths[index] ?? 0)).join('  ')
  return all.map((row) => `${indent}${line(row)}`.trimEnd() + '\n').join('')
}
