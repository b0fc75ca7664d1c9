/** A column: its head, and what it shows of a row; undefined shows as a dash. */
export type Column<Row> = readonly [head: string, show: (row: Row) => string | undefined]

/** A Markdown table; numbers are right-aligned from the third column on. */
export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [
    line(columns.map(([head]) => head)),
    line(columns.map((_, at) => (at < 2 ? '---' : '---:'))),
    ...rows.map((row) => line(columns.map(([, show]) => show(row) ?? '–'))),
  ].join('\n')
}
