import { judgeAll, targetsTable } from '../verdict.ts'
import type { UserspaceMeasured, UserspaceResults } from './results.ts'
import {
  connectionsTable,
  headroom,
  idleTable,
  label,
  latencyTable,
  throughputTable,
} from './tables.ts'
import { USERSPACE_TARGETS } from './targets.ts'

/** Below this, the generator may have been as slow as the proxy. */
const CLEARLY = 1.3

/** Everything about the userspace mode, as a part of the page. */
export function userspaceSection(results: UserspaceResults): string {
  const { cells } = results
  const verdicts = judgeAll(USERSPACE_TARGETS, cells, ({ subject }) => label(subject))
  const sections = [
    ['Targets', targetsTable(verdicts)],
    ['Throughput', throughputTable(cells)],
    ['New connections, 32 at a time', connectionsTable(cells)],
    ['Latency of 100 bytes there and back', latencyTable(cells)],
    ['Idle connections', idleTable(cells)],
  ]
  const body = sections.map(([title, text]) => `### userspace: ${title}\n\n${text}\n`).join('\n')
  return `${head(results)}\n${body}`
}

function head({ machine, startedAt, quick, ...results }: UserspaceResults): string {
  const { cores, kernel, haproxy, nginx, node } = machine
  const { roundMs, busyPercent, cells } = results
  const warning = quick ? '\n**A quick run: too few repetitions to be quoted.**\n' : ''
  const rounds = Math.max(0, ...cells.map(({ measured }) => roundsOf(measured)))
  return `## userspace mode
${warning}
${startedAt}; ${cores} cores, Linux ${kernel}, HAProxy ${haproxy}, nginx ${nginx}, Node ${node}. Rounds of ${roundMs / 1_000} s for each
figure of each proxy, by turns: ${rounds}. *÷ HAProxy* is the figure divided by HAProxy's of the
same round. Before, the machine was ${busyPercent.toFixed(0)} % busy with other things.
${generatorText(headroom(cells))}`
}

function roundsOf({ streams }: Partial<UserspaceMeasured>): number {
  return streams?.gigabytesPerSecond.length ?? 0
}

function generatorText(ratio: number | undefined): string {
  if (ratio === undefined) return ''
  const times = `Without a proxy, 64 connections are ${ratio.toFixed(2)} × as fast as with the fastest one.\n`
  return ratio >= CLEARLY
    ? times
    : `${times}\n**The load generator may have been what was measured.**\n`
}
