import { count } from '../show.ts'
import { spread } from '../statistics.ts'
import type { BrowserResults } from './results.ts'
import { browserTable, costTable } from './tables.ts'

/** What the page of a node costs, as a part of the page of results. */
export function browserSection(results: BrowserResults): string {
  const { openMs, frameP99Ms, longTasks } = results.scrolling
  return `${head(results)}
### The page: the daemon while nothing changes

${costTable(results)}

### The page: in the browser

${browserTable([
  ['opened, until the rows are there, ms', spread(openMs, 0)],
  ['a frame while all rows pass, p99, ms', spread(frameP99Ms, 1)],
  ['tasks of more than 50 ms meanwhile', spread(longTasks, 0)],
])}
`
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
