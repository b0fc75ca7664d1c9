import type { Load } from '../report/masquerade/results.ts'

/** What one process measures, one load after the other. */
export interface CellOrder {
  readonly subject: string
  readonly loads: readonly Load[]
}

/** Before each line with a cell: User-mode Linux shows other lines as well. */
export const MARK = 'cell: '
