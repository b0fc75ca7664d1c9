import { count } from '../show.ts'
import { table } from '../table.ts'
import type { Causes, MasqueradeCell, MasqueradeResults } from './results.ts'

const CAUSES: readonly (keyof Causes)[] = ['timeWait', 'unanswered', 'answered', 'lost']

/** Everything about masqueraded connections, as a part of the page. */
export function masqueradeSection(results: MasqueradeResults): string {
  const rates = [...new Set(results.cells.map(({ perSecond }) => perSecond))].toSorted(
    (a, b) => b - a,
  )
  const parts = rates.map((rate) => ratePart(results.cells.filter((one) => one.perSecond === rate)))
  return `${head(results)}
${parts.join('\n')}
### Masquerade: all cells together

${totalsTable(results.cells)}
`
}

function ratePart(cells: readonly MasqueradeCell[]): string {
  const [first] = cells
  const title = `${count(first?.perSecond ?? 0)} connections a second, ${count(first?.connections ?? 0)} in all`
  return `### Masquerade: ${title}

${cellsTable(cells)}
`
}

/** One row for each subject: repeated SYNs, and in brackets the connections that waited. */
function cellsTable(cells: readonly MasqueradeCell[]): string {
  const subjects = [...new Set(cells.map(({ subject }) => subject))]
  const columns = [false, true].flatMap((binds) =>
    [...new Set(cells.filter((one) => one.binds === binds).map(({ clients }) => clients))]
      .toSorted((a, b) => a - b)
      .map((clients) => ({ binds, clients })),
  )
  const rows = subjects.toSorted()
  return table(rows, [
    ['', (subject) => subject],
    [' ', () => ''],
    ...columns.map(({ binds, clients }) => {
      const find = (subject: string) =>
        cells.find(
          (one) => one.subject === subject && one.binds === binds && one.clients === clients,
        )
      const head = `${clients} ${binds ? 'binds' : 'connects'}`
      return [head, (subject: string) => shown(find(subject))] as const
    }),
  ])
}

function shown(cell: MasqueradeCell | undefined): string | undefined {
  if (cell === undefined) return undefined
  const waits = sum(CAUSES.map((cause) => cell.causes[cause].waits))
  return waits === 0 ? count(cell.repeatedSyns) : `${count(cell.repeatedSyns)} (${count(waits)})`
}

/** The causes of repeated SYNs and waits, and the counters of the kernel. */
function totalsTable(cells: readonly MasqueradeCell[]): string {
  const subjects = [...new Set(cells.map(({ subject }) => subject))].toSorted()
  const of = (subject: string) => cells.filter((one) => one.subject === subject)
  const total = (subject: string, figure: (cell: MasqueradeCell) => number) =>
    count(sum(of(subject).map(figure)))
  const caused = (subject: string, cause: keyof Causes) => {
    const repeated = total(subject, ({ causes }) => causes[cause].repeatedSyns)
    const waits = total(subject, ({ causes }) => causes[cause].waits)
    return waits === '0' ? repeated : `${repeated} (${waits})`
  }
  return table(subjects, [
    ['', (subject) => subject],
    ['Linux', (subject) => of(subject)[0]?.kernel],
    ['connections', (subject) => total(subject, ({ connections }) => connections)],
    ['failed', (subject) => total(subject, ({ failures }) => failures)],
    ['repeated SYNs', (subject) => total(subject, ({ repeatedSyns }) => repeatedSyns)],
    ['after a TIME_WAIT’s answer', (subject) => caused(subject, 'timeWait')],
    ['no answer', (subject) => caused(subject, 'unanswered')],
    ['late answer', (subject) => caused(subject, 'answered')],
    ['lost before', (subject) => caused(subject, 'lost')],
    ['PAWSTimewait', (subject) => total(subject, ({ rejectedByTimeWait }) => rejectedByTimeWait)],
    ['insert_failed', (subject) => total(subject, ({ insertFailed }) => insertFailed)],
  ])
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function head({ machine, startedAt, busyPercent, cells }: MasqueradeResults): string {
  const { cores, kernel, iptables, node } = machine
  const late = Math.max(...cells.map(({ tookSeconds, seconds }) => tookSeconds - seconds))
  return `## Masquerade

${startedAt}; ${cores} cores, Linux ${kernel}, iptables ${iptables}, Node ${node}; ${(cells[0]?.seconds ?? 0) / 60} minutes for each figure.
SYNs that were sent again, in brackets connections that waited for 0.9 s or more because of it. Others used
${busyPercent.toFixed(0)} % of the cores before; the slowest load took ${late.toFixed(1)} s longer than it should.
`
}
