import { count, map } from '../show.ts'
import { median, quantile, spread } from '../statistics.ts'
import { type Column, table } from '../table.ts'
import type {
  ApiserverCell,
  ApiserverMeasured,
  Creates,
  FanOut,
  List,
  Patches,
  Reads,
  Requests,
} from './results.ts'

type Cells = readonly ApiserverCell[]

/** A figure that a driver may not have. */
type Row<T> = readonly [what: string, driver: string, figure: T]

/** One row for each driver that has the figure. */
function rowsOf<T>(
  cells: Cells,
  what: string,
  pick: (measured: Partial<ApiserverMeasured>) => T | undefined,
): readonly Row<T>[] {
  return cells.flatMap(({ driver, measured }) => {
    const figure = pick(measured)
    return figure === undefined ? [] : [[what, driver, figure] as const]
  })
}

function columns<T>(
  ...all: readonly (readonly [head: string, show: (figure: T) => string | undefined])[]
): readonly Column<Row<T>>[] {
  const figures = all.map(([head, show]): Column<Row<T>> => [head, ([, , figure]) => show(figure)])
  return [['', ([what]) => what], ['store', ([, driver]) => driver], ...figures]
}

const REQUESTS = [
  ['per second', ({ perSecond }: Requests) => spread(perSecond, 0)],
  ['p50, ms', ({ p50 }: Requests) => spread(p50, 2)],
  ['p99, ms', ({ p99 }: Requests) => spread(p99, 1)],
  ['CPU, ms each', ({ cpuMsEach }: Requests) => spread(cpuMsEach, 2)],
] as const

export function writesTable(cells: Cells): string {
  const rows = [
    ...rowsOf(cells, 'create Service', ({ createServices }) => createServices),
    ...rowsOf(cells, 'create Endpoints', ({ createEndpoints }) => createEndpoints),
  ]
  const more = columns<Creates>(
    ...REQUESTS,
    ['write + fdatasync, 1 writer, per second', (each) => spread(each.flushesPerSecond, 0)],
    ['store alone, per second', (each) => spread(each.storePerSecond, 0)],
    ['÷ store alone', (each) => ratios(each.perSecond, each.storePerSecond)],
  )
  return table(rows, more)
}

export function readsTable(cells: Cells): string {
  const rows = rowsOf(cells, 'get Service', (measured) => measured.get)
  return table(
    rows,
    columns<Reads>(
      ...REQUESTS,
      ['bytes', ({ bytes }) => count(bytes)],
      ['bare HTTPS server, per second', ({ barePerSecond }) => spread(barePerSecond, 0)],
      ['÷ bare', ({ perSecond, barePerSecond }) => ratios(perSecond, barePerSecond)],
    ),
  )
}

export function listsTable(cells: Cells): string {
  const rows = [
    ...rowsOf(cells, 'JSON', ({ lists }) => lists?.plain),
    ...rowsOf(cells, 'JSON, gzip', ({ lists }) => lists?.gzip),
    ...rowsOf(cells, 'Table, gzip', ({ lists }) => lists?.table),
  ]
  return table(
    rows,
    columns<List>(
      ['MB', ({ bytes }) => (bytes / 1e6).toFixed(1)],
      ['ms', ({ ms }) => spread(ms, 0)],
      ['CPU, ms', ({ cpuMsEach }) => spread(cpuMsEach, 0)],
      ['event-loop delay p99, ms', ({ delayP99 }) => spread(delayP99, 1)],
      ['longest', ({ delayLongest }) => spread(delayLongest, 0)],
      ['bare HTTPS server, ms', ({ bareMs }) => spread(bareMs, 0)],
    ),
  )
}

export function patchTable(cells: Cells): string {
  const rows = rowsOf(cells, 'merge patch', ({ patch }) => patch)
  return table(
    rows,
    columns<Patches>(
      ...REQUESTS,
      ['watch p50, ms', ({ watchP50 }) => spread(watchP50, 1)],
      ['watch p99, ms', ({ watchP99 }) => spread(watchP99, 1)],
    ),
  )
}

export function fanOutTable(cells: Cells): string {
  const rows = cells.flatMap(({ driver, measured: { fanOut = [] } }) =>
    fanOut.map((each): Row<FanOut> => [`${count(each.watchers)} watching`, driver, each]),
  )
  return table(
    rows,
    columns<FanOut>(
      ['p50, ms', ({ p50 }) => spread(p50, 1)],
      ['p99, ms', ({ p99 }) => spread(p99, 1)],
      ['CPU of a write, ms', ({ cpuMsEach }) => spread(cpuMsEach, 1)],
      ['bare HTTPS server, p50, ms', ({ bareP50 }) => spread(bareP50, 1)],
      ['p99, ms', ({ bareP99 }) => spread(bareP99, 1)],
      ['CPU, ms', ({ bareCpuMsEach }) => spread(bareCpuMsEach, 1)],
    ),
  )
}

export function readinessTable(cells: Cells): string {
  const rows = rowsOf(cells, 'Endpoints after readiness', ({ readiness }) => readiness)
  const at = (q: number) => (figure: { readonly ms: readonly number[] }) =>
    quantile(figure.ms, q).toFixed(1)
  return table(rows, columns(['p50, ms', at(0.5)], ['p90, ms', at(0.9)], ['p99, ms', at(0.99)]))
}

export function memoryTable(cells: Cells): string {
  return table(cells, [
    ['store', ({ driver }) => driver],
    ['', () => ''],
    ['idle, MB', ({ measured: all }) => map(all.startEmpty, (each) => megabytes(each.residentKib))],
    ['filled, MB', ({ measured: all }) => map(all.filled, (each) => megabytes(each.residentKib))],
    [
      'started when full, MB',
      ({ measured: all }) => map(all.startFull, (each) => megabytes(each.residentKib)),
    ],
    [
      'idle watcher, kB',
      ({ measured: all }) => map(all.idleWatchers, (each) => spread(each.kilobytesEach, 1)),
    ],
    [
      'of a bare HTTPS server, kB',
      ({ measured: all }) => map(all.idleWatchers, (each) => spread(each.bareKilobytesEach, 1)),
    ],
    [
      'start, empty, ms',
      ({ measured: all }) => map(all.startEmpty, (each) => spread(each.readyMs, 0)),
    ],
    [
      'start, full, ms',
      ({ measured: all }) => map(all.startFull, (each) => spread(each.readyMs, 0)),
    ],
  ])
}

function megabytes(kib: readonly number[]): string {
  return spread(
    kib.map((each) => (each * 1.024) / 1_000),
    0,
  )
}

/** Ratios of medians, because the rounds of a growing file are not comparable one by one. */
function ratios(ours: readonly number[], theirs: readonly number[]): string {
  return (median(ours) / median(theirs)).toFixed(2)
}
