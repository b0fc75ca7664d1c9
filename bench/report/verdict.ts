import { table } from './table.ts'

/** One target at one place. `measured` and `limit` are in `unit`. */
export interface Verdict extends Judged {
  readonly target: string
  /** `10,000, nft` */
  readonly at: string
  readonly met: boolean
}

export interface Judged {
  readonly measured: number
  readonly limit: number
  readonly unit: 'ms' | 'µs' | 'MiB' | 'KiB' | 'MB' | 'kB' | '/s' | '%' | '×'
  /** Whether the limit is a lower bound, and not an upper bound. */
  readonly atLeast?: true
}

/** A target, which may apply to some cells only. */
export interface Target<Cell> {
  readonly name: string
  readonly judge: (cell: Cell, all: readonly Cell[]) => Judged | undefined
}

export function judgeAll<Cell>(
  targets: readonly Target<Cell>[],
  cells: readonly Cell[],
  at: (cell: Cell) => string,
): readonly Verdict[] {
  return targets.flatMap(({ name, judge }) =>
    cells.flatMap((cell) => {
      const judged = judge(cell, cells)
      if (judged === undefined) return []
      return [{ target: name, at: at(cell), ...judged, met: isMet(judged) }]
    }),
  )
}

function isMet({ measured, limit, atLeast }: Judged): boolean {
  return atLeast === true ? measured >= limit : measured <= limit
}

export function targetsTable(all: readonly Verdict[]): string {
  const met = all.filter((verdict) => verdict.met).length
  const number = (value: number, { unit }: Verdict) =>
    `${value.toFixed(unit === '%' || unit === '×' ? 2 : unit === 'µs' || value < 100 ? 1 : 0)} ${unit}`
  const rows = table(all, [
    ['target', ({ target }) => target],
    ['at', ({ at }) => at],
    ['measured', (verdict) => number(verdict.measured, verdict)],
    ['limit', (verdict) => number(verdict.limit, verdict)],
    [
      '',
      ({ met: isMet, measured, limit }) =>
        isMet ? 'met' : `**missed**, ${(measured / limit).toFixed(2)} ×`,
    ],
  ])
  return `${met} of ${all.length} met.\n\n${rows}`
}
