import { judgeAll, targetsTable } from '../verdict.ts'
import type { ApiserverResults } from './results.ts'
import {
  fanOutTable,
  listsTable,
  memoryTable,
  patchTable,
  readinessTable,
  readsTable,
  writesTable,
} from './tables.ts'
import { APISERVER_TARGETS } from './targets.ts'

/** Everything about the API server, as a part of the page. */
export function apiserverSection(results: ApiserverResults): string {
  const { cells } = results
  const verdicts = judgeAll(APISERVER_TARGETS, cells, ({ driver }) => driver)
  const sections = [
    ['Targets', targetsTable(verdicts)],
    ['Create, 8 clients', writesTable(cells)],
    ['Get, 8 clients', readsTable(cells)],
    ['List of 10,000 Services', listsTable(cells)],
    ['Patch, 8 clients and one watcher', patchTable(cells)],
    ['Watch: from the write to the event', fanOutTable(cells)],
    ['Endpoints after a Pod becomes ready', readinessTable(cells)],
    ['Memory and start', memoryTable(cells)],
  ]
  const body = sections.map(([title, text]) => `### API server: ${title}\n\n${text}\n`).join('\n')
  return `${head(results)}\n${body}`
}

function head({ machine, startedAt, quick, busyPercent, cells }: ApiserverResults): string {
  const { cores, kernel, etcd = 'none', node } = machine
  const warning = quick ? '\n**A quick run: too few repetitions to be quoted.**\n' : ''
  const missing = cells.flatMap(({ driver, unfinished }) =>
    unfinished === undefined ? [] : [`- ${driver} stopped: ${unfinished}\n`],
  )
  return `## API server
${warning}
${startedAt}; ${cores} cores, Linux ${kernel}, etcd ${etcd}, Node ${node}. One \`bin/orch-server\` over HTTPS; the
embedded store and etcd flush every write to the disk. Server, etcd and load generator share the
cores. Before, the machine was ${busyPercent.toFixed(0)} % busy with other things.
${missing.length === 0 ? '' : `\n${missing.join('')}`}`
}
