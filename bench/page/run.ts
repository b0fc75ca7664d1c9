import { join } from 'node:path'
import { replacementAddress } from '../lab/plan.ts'
import { busyPercent } from '../measure/busy-percent.ts'
import { counter } from '../measure/counter.ts'
import { machineFacts } from '../measure/machine.ts'
import { emptyNode, startRunning } from '../nftables/running.ts'
import type { Options } from '../options.ts'
import type { BrowserResults, DaemonCost } from '../report/browser/results.ts'
import { saveBrowserResults } from '../report/files.ts'
import { seededCluster } from '../seeded-cluster.ts'
import { type Cost, measureCost, measureOpen } from './round.ts'

const NO_COST: DaemonCost = { cpuPercent: [], residentKib: [] }

/** What the page of a node costs: by turns on one daemon, so that what else the machine does affects both alike. */
export async function runPage(options: Options, folder: string): Promise<void> {
  const { repeats, quick, into } = options
  const services = quick ? 1_000 : 10_000
  const startedAt = new Date().toISOString().slice(0, 10)
  const head = { startedAt, machine: machineFacts(), quick, busyPercent: await busyPercent() }
  const cluster = await seededCluster(services)
  const [freshSerial, address] = [counter(), counter()]
  const freshAddress = () => replacementAddress(address())
  const parts = { cluster, folder, repeats, log, freshSerial, freshAddress, save: () => undefined }
  const settings = { inspection: { socket: join(folder, 'inspect.sock') } }
  const running = await startRunning(parts, emptyNode(parts), { settings })
  const scrolling = { openMs: [], frameP99Ms: [], longTasks: [] }
  let results: BrowserResults = { ...head, services, without: NO_COST, open: NO_COST, scrolling }
  try {
    for (let round = 1; round <= repeats.rounds; round++) {
      log(`round ${round} of ${repeats.rounds}`)
      const without = await measureCost(running, repeats.idleSeconds)
      const opened = await measureOpen(running, repeats.idleSeconds)
      results = withRound(results, without, opened)
      saveBrowserResults(into, results)
    }
  } finally {
    await running.stop()
    await cluster.stop()
  }
}

function withRound(
  results: BrowserResults,
  without: Cost,
  { cost, openMs, frameP99Ms, longTasks }: Awaited<ReturnType<typeof measureOpen>>,
): BrowserResults {
  const { scrolling } = results
  return {
    ...results,
    without: withCost(results.without, without),
    open: withCost(results.open, cost),
    scrolling: {
      openMs: [...scrolling.openMs, openMs],
      frameP99Ms: [...scrolling.frameP99Ms, frameP99Ms],
      longTasks: [...scrolling.longTasks, longTasks],
    },
  }
}

function withCost(before: DaemonCost, { cpuPercent, residentKib }: Cost): DaemonCost {
  return {
    cpuPercent: [...before.cpuPercent, cpuPercent],
    residentKib: [...before.residentKib, residentKib],
  }
}

function log(what: string): void {
  process.stderr.write(`bench: page: ${what}\n`)
}
