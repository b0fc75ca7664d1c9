import { count } from '../show.ts'
import { judgeAll, targetsTable } from '../verdict.ts'
import type { IpvsMachine, IpvsResults } from './results.ts'
import {
  burstTable,
  changeTable,
  clearTable,
  costTable,
  firstPacketTable,
  fullSyncTable,
} from './tables.ts'
import { IPVS_TARGETS } from './targets.ts'

/** Everything about the ipvs mode, as a part of the page. */
export function ipvsSection(results: IpvsResults): string {
  const { cells } = results
  const sections = [
    ['Targets', targetsTable(judgeAll(IPVS_TARGETS, cells, ({ services }) => count(services)))],
    ['Cold full sync', fullSyncTable(cells)],
    ['One endpoint replaced', changeTable(cells, 'replace')],
    ['One Service added', changeTable(cells, 'add')],
    ['A burst of 100 changes', burstTable(cells)],
    ['After a foreign `ipvsadm -C`', clearTable(cells)],
    ['First packet: connect p50 / p90, ipvs and iptables mode', firstPacketTable(cells)],
    ['Idle, memory', costTable(cells)],
  ]
  const body = sections.map(([title, content]) => `### ipvs: ${title}\n\n${content}\n`).join('\n')
  return `${head(results)}\n${body}`
}

function head({ machine, startedAt, quick }: IpvsResults): string {
  const { ipvsadm, node } = machine
  const warning = quick ? '\n**A quick run: too few repetitions to be quoted.**\n' : ''
  return `## ipvs mode

**${place(machine)}**
${warning}
${startedAt}; ipvsadm ${ipvsadm}, Node ${node}. *raw* is a minimal sender of the same messages over the
same netlink package, measured in the same kernel by turns with the daemon. When the kernel had a change is heard from its
own acknowledgement, by nlmon, which disturbs no measurement.
`
}

function place({ isUserMode, kernel, cores }: IpvsMachine): string {
  if (!isUserMode) return `Linux ${kernel}, ${cores} cores.`
  return `User-mode Linux ${kernel}, one processor, system calls several times slower than on metal.`
}
