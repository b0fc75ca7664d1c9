import type { Load } from '../report/masquerade/results.ts'

/** The measurements of one process, one load after the other. */
export interface CellOrder {
  readonly subject: string
  readonly loads: readonly Load[]
}

/** The prefix of each line with a cell, because User-mode Linux also prints other lines. */
export const MARK = 'cell: '
