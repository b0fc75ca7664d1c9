import { setTimeout as delay } from 'node:timers/promises'
import type { Topology } from '../../lab/topology.ts'
import type { Stall, Wait, Waits } from '../../report/nftables/results.ts'
import { quantile } from '../../report/statistics.ts'
import { WorkerProcess } from '../../worker-process.ts'
import type { NftablesCellParts } from '../cell-parts.ts'
import { NetfilterRequests } from '../kernel/netfilter-requests.ts'
import { emptyNode, startRunning } from '../running.ts'
import type { GaugeName, StallOrder, StallReports } from '../stall/order.ts'
import { MAKE_TABLE } from '../stall/unrelated-table.ts'

const PROGRAM = new URL('../stall/gauge.ts', import.meta.url)
const GAUGES: readonly GaugeName[] = ['transaction', 'list', 'packet']
/** Milliseconds until the gauges have warmed up. */
const WARM_UP_MS = 500
const QUIET_MS = 2_000

type Gauge = WorkerProcess<StallOrder, StallReports>
/** What each gauge measured in one round. */
type Samples = Readonly<Record<GaugeName, readonly number[]>>

/**
 * Measures how long others wait while a daemon writes everything to an empty node. Three programs repeatedly add a rule
 * to a table of their own, list it, and send a packet through the node.
 */
export async function stall(parts: NftablesCellParts, rounds: number): Promise<Stall> {
  const quiet: Samples[] = []
  const coldStart: Samples[] = []
  for (let n = 0; n < rounds; n++) {
    const round = await stallOnce(parts)
    quiet.push(round.quiet)
    coldStart.push(round.coldStart)
  }
  return { quiet: toWaits(quiet), coldStart: toWaits(coldStart) }
}

async function stallOnce(parts: NftablesCellParts) {
  const node = emptyNode(parts)
  const gauges = GAUGES.map((): Gauge => new WorkerProcess(PROGRAM))
  try {
    makeTable(node.topology)
    await startAll(gauges, node.topology)
    await delay(WARM_UP_MS)
    await takeAll(gauges)
    await delay(QUIET_MS)
    const quiet = await takeAll(gauges)
    const running = await startRunning(parts, node, { isProbed: false })
    const coldStart = await takeAll(gauges)
    for (const gauge of gauges) gauge.stop()
    await running.stop()
    return { quiet, coldStart }
  } finally {
    for (const gauge of gauges) gauge.stop()
  }
}

function makeTable({ node }: Topology): void {
  const requests = new NetfilterRequests(node)
  requests.transact(MAKE_TABLE)
  requests.close()
}

async function startAll(gauges: readonly Gauge[], topology: Topology): Promise<void> {
  const { node, client, backends } = topology
  for (const [n, gauge] of GAUGES.entries()) {
    await gauges[n]?.request({ what: 'start', gauge, node, client, backends })
  }
}

async function takeAll(gauges: readonly Gauge[]): Promise<Samples> {
  const [transaction = [], list = [], packet = []] = await Promise.all(
    gauges.map(async (gauge) => (await gauge.request({ what: 'take' })).ms),
  )
  return { transaction, list, packet }
}

function toWaits(rounds: readonly Samples[]): Waits {
  const of = (name: GaugeName): Wait => ({
    count: rounds.map((each) => each[name].length),
    p99: rounds.map((each) => quantile(each[name], 0.99)),
    longest: rounds.map((each) => Math.max(...each[name])),
  })
  return { transaction: of('transaction'), list: of('list'), packet: of('packet') }
}
