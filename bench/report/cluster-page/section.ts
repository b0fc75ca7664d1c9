import { browserTable, costTable } from '../browser/tables.ts'
import { count } from '../show.ts'
import { spread } from '../statistics.ts'
import type { ClusterPageResults } from './results.ts'

/** What the page of a cluster costs, as a part of the page of results. */
export function clusterPageSection(results: ClusterPageResults): string {
  const { nodesMs, serviceMs, longestTaskMs, frameP99Ms } = results.page
  return `${head(results)}
### The page of the cluster: orch-server while nothing changes

${costTable(results)}

### The page of the cluster: in the browser

${browserTable([
  ['signed in, until every node was read, ms', spread(nodesMs, 0)],
  ['a Service opened, until every node was read, ms', spread(serviceMs, 0)],
  ['longest task, ms; 0: none took 50', spread(longestTaskMs, 0)],
  ['a frame, p99, ms', spread(frameP99Ms, 1)],
])}
`
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
