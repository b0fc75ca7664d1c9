import { count } from '../show.ts'
import { ratios, spread } from '../statistics.ts'
import { table } from '../table.ts'
import type { BrowserResults, DaemonCost } from './results.ts'

const KIB_PER_MIB = 1_024

/** What the page of a node costs, as a part of the page of results. */
export function browserSection(results: BrowserResults): string {
  const { openMs, frameP99Ms, longTasks } = results.scrolling
  return `${head(results)}
### The page: the daemon while nothing changes

${costTable(results)}

### The page: in the browser

${table(
  [
    ['opened, until the rows are there, ms', spread(openMs, 0)],
    ['a frame while all rows pass, p99, ms', spread(frameP99Ms, 1)],
    ['tasks of more than 50 ms meanwhile', spread(longTasks, 0)],
  ] as const,
  [
    ['', ([name]) => name],
    [' ', () => ''],
    ['measured', ([, text]) => text],
  ],
)}
`
}

function costTable({ without, open }: BrowserResults): string {
  const rows: readonly (readonly [name: string, cost: DaemonCost])[] = [
    ['no reader', without],
    ['the page is open', open],
  ]
  return table(rows, [
    ['', ([name]) => name],
    [' ', () => ''],
    ['CPU, % of one core', ([, cost]) => spread(cost.cpuPercent, 1)],
    ['more than without', ([, cost]) => spread(added(cost, without), 1)],
    [
      'memory, MiB',
      ([, cost]) =>
        spread(
          cost.residentKib.map((one) => one / KIB_PER_MIB),
          0,
        ),
    ],
    ['× without', ([, cost]) => spread(ratios(cost.residentKib, without.residentKib), 2)],
  ])
}

/** Points of per cent beside the same round; a ratio to a daemon that rests would say nothing. */
export function added(cost: DaemonCost, without: DaemonCost): readonly number[] {
  return cost.cpuPercent.map((one, round) => one - (without.cpuPercent[round] ?? Number.NaN))
}

function head({ machine, startedAt, quick, busyPercent, services }: BrowserResults): string {
  const { cores, kernel, node } = machine
  const warning = quick ? '\n**A quick run: too few repetitions to be quoted.**\n' : ''
  return `## The page
${warning}
${startedAt}; ${cores} cores, Linux ${kernel}, Node ${node}, nftables mode, ${count(services)} Services. The
browser shows the table of Services on the same machine. Ratios are of the same round.
Before, the machine was ${busyPercent.toFixed(0)} % busy with other things.
`
}
