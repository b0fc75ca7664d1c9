import { hasIpvs } from '../ipvs/here.ts'
import { busyPercent } from '../measure/busy-percent.ts'
import { readResults, saveResults } from '../report/files.ts'
import type { MasqueradeCell, MasqueradeResults } from '../report/masquerade/results.ts'
import type { CellOrder } from './cell-order.ts'
import { describeMachine } from './machine.ts'
import { type Options, parseOptions, USAGE } from './options.ts'
import { nextOrder, ordersOf } from './plan.ts'
import { runCells } from './run-cell.ts'
import { needsIpvs } from './subjects.ts'

/**
 * Measures how often a masqueraded connection meets the TIME_WAIT of another one, for each way to choose the source
 * port.
 */
try {
  const options = parseOptions(process.argv.slice(2))
  if (options === 'help') process.stdout.write(USAGE)
  else await run(options)
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}

/** Runs the plan. Results are saved after every cell, and a failed process does not stop the others. */
async function run({ plan, limits, keep, into }: Options): Promise<void> {
  if (process.getuid?.() !== 0) throw new Error('needs root, for network namespaces')
  const { signal } = endedBySignals()
  const waiting = [...ordersOf(plan)]
  const running = new Map<CellOrder, Promise<void>>()
  let results: MasqueradeResults = {
    startedAt: new Date().toISOString().slice(0, 10),
    machine: describeMachine(),
    busyPercent: await busyPercent(),
    cells: (keep && readResults(into, 'masquerade')?.cells) || [],
  }
  const onCell = (cell: MasqueradeCell) => {
    results = { ...results, cells: [...results.cells.filter((old) => !isSame(old, cell)), cell] }
    saveResults(into, 'masquerade', results)
    log(`${nameOf(cell)}: ${cell.repeatedSyns} SYNs repeated`)
  }
  let turn = 0
  const start = async (order: CellOrder) => {
    const uml = needsIpvs(order.subject) && !hasIpvs() ? { turn: turn++ } : undefined
    try {
      await runCells({ order, uml, onCell, signal })
    } catch (error) {
      log(`${order.subject} failed: ${error instanceof Error ? error.message : String(error)}`)
      process.exitCode = 1
    }
    running.delete(order)
  }
  while (waiting.length > 0 || running.size > 0) {
    const order = nextOrder(waiting, [...running.keys()], limits)
    if (order === undefined) await Promise.race(running.values())
    else {
      waiting.splice(waiting.indexOf(order), 1)
      running.set(order, start(order))
    }
  }
}

/** A controller that is aborted when a signal ends this process, so that its children end, too. */
function endedBySignals(): AbortController {
  const ending = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => {
      ending.abort()
      process.exit(130)
    })
  }
  return ending
}

function isSame(one: MasqueradeCell, other: MasqueradeCell): boolean {
  const names = ['subject', 'perSecond', 'clients', 'binds'] as const
  return names.every((name) => one[name] === other[name])
}

function nameOf({ subject, perSecond, clients, binds }: MasqueradeCell): string {
  return `${subject}, ${perSecond}/s of ${clients}, ${binds ? 'binds' : 'connects'}`
}

function log(what: string): void {
  process.stderr.write(`bench: ${what}\n`)
}
