import { setTimeout as delay } from 'node:timers/promises'
import { ipBatch, namespaceName } from '../lab/namespace.ts'
import { busyPercent } from '../measure/busy-percent.ts'
import { machineFacts } from '../measure/machine.ts'
import type { Options } from '../options.ts'
import type { DaemonCost } from '../report/browser/results.ts'
import type { ClusterPageResults } from '../report/cluster-page/results.ts'
import { saveResults } from '../report/files.ts'
import { NODE_NET } from './node-address.ts'
import { measureOpen, measureServer, type OpenedRound, type ServerCost } from './round.ts'
import { startServedCluster } from './served-cluster.ts'

const FULL = { nodes: 500, services: 1_000 }
const QUICK = { nodes: 50, services: 100 }
/** How often the page reads all nodes while the server is measured; the seconds without the page are about as long. */
const LENGTH = { times: 3, seconds: 30 }
const QUICK_LENGTH = { times: 2, seconds: 6 }
/** Milliseconds until the work after the registration of nodes is done. */
const SETTLE_MS = 1_500

const NO_COST: DaemonCost = { cpuPercent: [], residentKib: [] }
const NO_FIGURES = { nodesMs: [], serviceMs: [], longestTaskMs: [], frameP99Ms: [] }

/**
 * Measures the page of a cluster on one orch-server, alternately with and without it, so that other load affects both.
 */
export async function runClusterPage({ quick, repeats, into }: Options): Promise<void> {
  const size = quick ? QUICK : FULL
  const startedAt = new Date().toISOString().slice(0, 10)
  const head = { startedAt, machine: machineFacts(), quick, busyPercent: await busyPercent() }
  ipBatch(namespaceName('control'), [`route replace local ${NODE_NET} dev lo`])
  log(`starting orch-server and ${size.nodes} nodes`)
  await using cluster = await startServedCluster(size)
  const { times, seconds } = quick ? QUICK_LENGTH : LENGTH
  let results: ClusterPageResults = {
    ...head,
    ...size,
    without: NO_COST,
    open: NO_COST,
    page: NO_FIGURES,
  }
  for (let round = 1; round <= repeats.rounds; round++) {
    log(`round ${round} of ${repeats.rounds}`)
    await delay(SETTLE_MS)
    const without = await measureServer(cluster, () => delay(seconds * 1_000))
    const opened = await measureOpen(cluster, times)
    results = withRound(results, without, opened)
    saveResults(into, 'clusterPage', results)
  }
}

function withRound(
  results: ClusterPageResults,
  without: ServerCost,
  { cost, ...figures }: OpenedRound,
): ClusterPageResults {
  const { page } = results
  return {
    ...results,
    without: withCost(results.without, without),
    open: withCost(results.open, cost),
    page: {
      nodesMs: [...page.nodesMs, figures.nodesMs],
      serviceMs: [...page.serviceMs, figures.serviceMs],
      longestTaskMs: [...page.longestTaskMs, figures.longestTaskMs],
      frameP99Ms: [...page.frameP99Ms, figures.frameP99Ms],
    },
  }
}

function withCost(before: DaemonCost, { cpuPercent, residentKib }: ServerCost): DaemonCost {
  return {
    cpuPercent: [...before.cpuPercent, cpuPercent],
    residentKib: [...before.residentKib, residentKib],
  }
}

function log(what: string): void {
  process.stderr.write(`bench: cluster-page: ${what}\n`)
}
