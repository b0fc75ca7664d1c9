import { ratios, spread } from '../statistics.ts'
import { table } from '../table.ts'
import type { DaemonCost } from './results.ts'

const KIB_PER_MIB = 1_024

interface Costs {
  /** Both have the same rounds. */
  readonly without: DaemonCost
  readonly open: DaemonCost
}

/** What a page costs the process that serves it, while nothing changes. */
export function costTable({ without, open }: Costs): string {
  const rows: readonly (readonly [name: string, cost: DaemonCost])[] = [
    ['no reader', without],
    ['the page is open', open],
  ]
  const mib = (kib: readonly number[]) => kib.map((one) => one / KIB_PER_MIB)
  return table(rows, [
    ['', ([name]) => name],
    [' ', () => ''],
    ['CPU, % of one core', ([, cost]) => spread(cost.cpuPercent, 1)],
    ['more than without', ([, cost]) => spread(added(cost, without), 1)],
    ['memory, MiB', ([, cost]) => spread(mib(cost.residentKib), 0)],
    ['× without', ([, cost]) => spread(ratios(cost.residentKib, without.residentKib), 2)],
  ])
}

/** The difference in percentage points in each round; a ratio to an idle process would say nothing. */
function added(cost: DaemonCost, without: DaemonCost): readonly number[] {
  return cost.cpuPercent.map((one, round) => one - (without.cpuPercent[round] ?? Number.NaN))
}

/** Figures of a browser, each with its name. */
export function browserTable(figures: readonly (readonly [name: string, text: string])[]): string {
  return table(figures, [
    ['', ([name]) => name],
    [' ', () => ''],
    ['measured', ([, text]) => text],
  ])
}
