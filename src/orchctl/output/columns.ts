import { oneLine } from './terminal-text.ts'

const GAP = 3

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

/** Characters as code points; one may take two units of a string. */
function length(text: string): number {
  return Array.from(text).length
}
