import { ratio } from '../show.ts'
import { median, ratios, spread } from '../statistics.ts'
import { type Column, table } from '../table.ts'
import { baselineOf, type RequestName, rateRatios } from './ratios.ts'
import type { Decisions, Flood, RequestsCell, SubjectName, Waits } from './results.ts'

const SUBJECTS: Readonly<Record<SubjectName, string>> = {
  none: 'no users',
  ignored: 'no users, a token that is ignored',
  token: 'token',
  certificate: 'client certificate',
  audited: 'token, audited',
}

export function decisionsTable({ indexedPerSecond, scannedPerSecond }: Decisions): string {
  const rows = [
    ['by subject', indexedPerSecond],
    ['a scan of all bindings', scannedPerSecond],
  ] as const
  return table(rows, [
    ['bindings found', ([how]) => how],
    ['', () => ''],
    ['decisions per second', ([, samples]) => spread(samples, 0)],
    ['÷ scan', ([, samples]) => ratio(median(samples), median(scannedPerSecond))],
  ])
}

/** A request of a subject. */
type Row = readonly [request: RequestName, cell: RequestsCell]

export function requestsTable(cells: readonly RequestsCell[]): string {
  const rows = (['create', 'get'] as const).flatMap((request) =>
    cells.map((cell): Row => [request, cell]),
  )
  return table(rows, [
    ['', ([request]) => `${request} Service`],
    ['clients have', ([, { subject }]) => SUBJECTS[subject]],
    ['per second', ([request, cell]) => spread(cell[request].perSecond, 0)],
    ['CPU, µs each', ([request, cell]) => spread(cell[request].cpuMicros, 0)],
    ['÷ no users', against(cells, ({ subject }) => baselineOf(subject))],
    [
      '÷ not audited',
      against(cells, ({ subject }) => (subject === 'audited' ? 'token' : undefined)),
    ],
    ['events dropped', ([, cell]) => droppedEvents(cell)],
  ])
}

function droppedEvents({ subject, droppedEvents: dropped }: RequestsCell): string | undefined {
  return subject === 'audited' ? String(dropped) : undefined
}

/** The median over the rounds of the ratio of rates of the compared subjects. */
function against(
  cells: readonly RequestsCell[],
  otherOf: (cell: RequestsCell) => SubjectName | undefined,
): Column<Row>[1] {
  return ([request, cell]) => {
    const other = otherOf(cell)
    return other && spread(rateRatios(cell, cells, { request, against: other }), 2)
  }
}

export function floodTable({ quiet, flooded, refusedPerSecond }: Flood): string {
  const rows: readonly (readonly [string, Waits, readonly number[]])[] = [
    ['alone', quiet, []],
    ['in a flood', flooded, refusedPerSecond],
  ]
  return table(rows, [
    ['', ([what]) => what],
    ['p50, ms', ([, { p50 }]) => spread(p50, 2)],
    ['p99, ms', ([, { p99 }]) => spread(p99, 2)],
    ['p99 ÷ alone', ([, { p99 }]) => spread(ratios(p99, quiet.p99), 2)],
    ['bad tokens answered per second', ([, , refused]) => spread(refused, 0)],
  ])
}
