import type { DaemonCost } from '../browser/results.ts'
import { added } from '../browser/section.ts'
import { count } from '../show.ts'
import { ratios, spread } from '../statistics.ts'
import { table } from '../table.ts'
import type { ClusterPageResults } from './results.ts'

const KIB_PER_MIB = 1_024

/** What the page of a cluster costs, as a part of the page of results. */
export function clusterPageSection(results: ClusterPageResults): string {
  const { nodesMs, serviceMs, longestTaskMs, frameP99Ms } = results.page
  return `${head(results)}
### The page of the cluster: orch-server while nothing changes

${costTable(results)}

### The page of the cluster: in the browser

${table(
  [
    ['signed in, until every node was read, ms', spread(nodesMs, 0)],
    ['a Service opened, until every node was read, ms', spread(serviceMs, 0)],
    ['longest task, ms; 0: none took 50', spread(longestTaskMs, 0)],
    ['a frame, p99, ms', spread(frameP99Ms, 1)],
  ] as const,
  [
    ['', ([name]) => name],
    [' ', () => ''],
    ['measured', ([, text]) => text],
  ],
)}
`
}

function costTable({ without, open }: ClusterPageResults): string {
  const rows: readonly (readonly [name: string, cost: DaemonCost])[] = [
    ['no reader', without],
    ['the page is open', open],
  ]
  return table(rows, [
    ['', ([name]) => name],
    [' ', () => ''],
    ['CPU, % of one core', ([, cost]) => spread(cost.cpuPercent, 1)],
    ['more than without', ([, cost]) => spread(added(cost, without), 1)],
    ['× CPU without', ([, cost]) => spread(timesAsMuch(cost.cpuPercent, without.cpuPercent), 1)],
    [
      'memory, MiB',
      ([, cost]) =>
        spread(
          cost.residentKib.map((one) => one / KIB_PER_MIB),
          0,
        ),
    ],
    [
      '× memory without',
      ([, cost]) => spread(timesAsMuch(cost.residentKib, without.residentKib), 2),
    ],
  ])
}

/** A server that rests may use less processor time than is counted: a ratio to nothing is left out. */
function timesAsMuch(ours: readonly number[], theirs: readonly number[]): readonly number[] {
  return ratios(ours, theirs).filter(Number.isFinite)
}

function head({
  machine,
  startedAt,
  quick,
  busyPercent,
  nodes,
  services,
}: ClusterPageResults): string {
  const { cores, kernel, node } = machine
  const warning = quick ? '\n**A quick run: too few repetitions to be quoted.**\n' : ''
  return `## The page of the cluster
${warning}
${startedAt}; ${cores} cores, Linux ${kernel}, Node ${node}, ${count(nodes)} nodes of ${count(services)} Services. One
process plays the nodes, and the browser shows them, on the same machine. Ratios are of the same round.
Before, the machine was ${busyPercent.toFixed(0)} % busy with other things.
`
}
