import { count } from '../show.ts'
import { judgeAll, targetsTable } from '../verdict.ts'
import type { NftablesCell, NftablesResults } from './results.ts'
import {
  burstTable,
  changeTable,
  costTable,
  countingTable,
  firstPacketTable,
  fullSyncTable,
  objectsTable,
  stallTable,
} from './tables.ts'
import { NFTABLES_TARGETS } from './targets.ts'

/** Everything about the nftables mode, as a part of the page. */
export function nftablesSection(results: NftablesResults): string {
  const { cells } = results
  const place = ({ services, endpoints }: NftablesCell) =>
    `${count(services)} × ${count(endpoints)}`
  const sections = [
    ['Targets', targetsTable(judgeAll(NFTABLES_TARGETS, cells, place))],
    ['Cold full sync', fullSyncTable(cells)],
    ['One endpoint replaced', changeTable(cells, 'replace')],
    ['One Service added', changeTable(cells, 'add')],
    ['A burst of 100 changes', burstTable(cells)],
    ['The longest wait of others', stallTable(cells)],
    ['First packet: connect p50 / p90', firstPacketTable(cells)],
    ['What counting costs a packet', countingTable(cells)],
    ['Idle, memory', costTable(cells)],
    ['Objects in the kernel', objectsTable(cells)],
  ]
  const body = sections.map(([title, content]) => `### nftables: ${title}\n\n${content}\n`)
  return `${head(results)}\n${body.join('\n')}`
}

function head({ machine, startedAt, quick }: NftablesResults): string {
  const { cores, kernel, node } = machine
  const warning = quick ? '\n**A quick run: too few repetitions to be quoted.**\n' : ''
  return `## nftables mode
${warning}
${startedAt}; ${cores} cores, Linux ${kernel}, Node ${node}. *raw* sends the daemon's own transactions,
recorded byte for byte, over one netlink socket into an empty namespace, in the same run by turns with
the daemon.
`
}
