import { type InspectedNode, onInspectedNode } from '../inspected-node.ts'
import type { Options } from '../options.ts'
import type { BrowserResults, DaemonCost } from '../report/browser/results.ts'
import { saveResults } from '../report/files.ts'
import { type Cost, measureCost, measureOpen } from './round.ts'

const NO_COST: DaemonCost = { cpuPercent: [], residentKib: [] }

/**
 * Measures the page of a node on one daemon, alternately with and without it, so that other load affects both alike.
 */
export async function runPage(options: Options, folder: string): Promise<void> {
  await onInspectedNode(options, { folder, log }, (node) => measurePage(options, node))
}

async function measurePage({ repeats, into }: Options, { running, head }: InspectedNode) {
  const scrolling = { openMs: [], frameP99Ms: [], longTasks: [] }
  let results: BrowserResults = { ...head, without: NO_COST, open: NO_COST, scrolling }
  for (let round = 1; round <= repeats.rounds; round++) {
    log(`round ${round} of ${repeats.rounds}`)
    const without = await measureCost(running, repeats.idleSeconds)
    const opened = await measureOpen(running, repeats.idleSeconds)
    results = withRound(results, without, opened)
    saveResults(into, 'browser', results)
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
