import type { Cell, Changes, ConnectTime, RawChanges } from './results.ts'
import { count, fixed, map, mib, milliseconds, ratio, seconds } from './show.ts'
import { median, quantile, spread } from './statistics.ts'
import { type Column, table } from './table.ts'

const PLACE: readonly Column<Cell>[] = [
  ['Services', ({ services }) => count(services)],
  ['variant', ({ backend }) => backend],
]

export function fullSyncTable(cells: readonly Cell[]): string {
  return table(cells, [
    ...PLACE,
    ['raw, s', ({ measured: { rawFullSync } }) => rawFullSync && seconds(rawFullSync.ms)],
    ['from listed, s', ({ measured: { fullSync } }) => fullSync && seconds(fullSync.fromListed)],
    ['from start, s', ({ measured: { fullSync } }) => fullSync && seconds(fullSync.fromStart)],
    [
      'start ÷ raw',
      ({ measured: { fullSync, rawFullSync } }) =>
        fullSync && rawFullSync && ratio(median(fullSync.fromStart), median(rawFullSync.ms)),
    ],
    [
      'raw CPU, s',
      ({ measured }) => measured.rawFullSync && fixed(measured.rawFullSync.cpuSeconds),
    ],
    ['CPU, s', ({ measured: { fullSync } }) => fullSync && fixed(fullSync.cpuSeconds)],
    ['', ({ unfinished }) => unfinished ?? ''],
  ])
}

/** One endpoint replaced, or a Service added: the same columns. */
export function changeTable(
  cells: readonly Cell[],
  of: (cell: Cell) => Changes | undefined,
): string {
  const raw = ({ measured }: Cell): RawChanges | undefined => measured.rawReplace
  return table(cells, [
    ...PLACE,
    ['raw p50, ms', (cell) => map(raw(cell), ({ ms }) => spread(ms, 1))],
    ['p50, ms', (cell) => map(of(cell), ({ ms }) => spread(ms, 1))],
    ['p99, ms', (cell) => map(of(cell), ({ ms }) => quantile(ms, 0.99).toFixed(1))],
    [
      'p50 ÷ raw',
      (cell) => map(of(cell), ({ ms }) => ratio(median(ms), median(raw(cell)?.ms ?? []))),
    ],
    ['raw until exit, ms', (cell) => map(raw(cell), ({ exitMs }) => median(exitMs).toFixed(1))],
    ['API answer, ms', (cell) => map(of(cell), ({ writeMs }) => median(writeMs).toFixed(1))],
    ['raw CPU, ms', (cell) => map(raw(cell), (each) => milliseconds(each.cpuSecondsEach))],
    ['CPU, ms', (cell) => map(of(cell), (each) => milliseconds(each.cpuSecondsEach))],
  ])
}

export function burstTable(cells: readonly Cell[]): string {
  return table(cells, [
    ...PLACE,
    ['raw, ms', ({ measured }) => map(measured.rawBurst, ({ ms }) => spread(ms, 0))],
    ['all visible, ms', ({ measured }) => map(measured.burst, ({ ms }) => spread(ms, 0))],
    [
      '÷ one change',
      ({ measured: { burst, replace } }) =>
        burst && replace && ratio(median(burst.ms), median(replace.ms)),
    ],
    [
      'all API answers, ms',
      ({ measured }) => map(measured.burst, ({ writeMs }) => median(writeMs).toFixed(0)),
    ],
    [
      'after the last answer, ms',
      ({ measured }) =>
        map(measured.burst, ({ ms, writeMs }) =>
          median(ms.map((each, n) => each - (writeMs[n] ?? 0))).toFixed(0),
        ),
    ],
  ])
}

export function firstPacketTable(cells: readonly Cell[]): string {
  const show = ({ p50, p90 }: ConnectTime) => `${p50.toFixed(1)} / ${p90.toFixed(1)}`
  return table(cells, [
    ...PLACE,
    ['no NAT, µs', ({ measured }) => map(measured.firstPacket, ({ direct }) => show(direct))],
    ['first Service, µs', ({ measured }) => map(measured.firstPacket, ({ first }) => show(first))],
    ['last Service, µs', ({ measured }) => map(measured.firstPacket, ({ last }) => show(last))],
    [
      'last ÷ no NAT',
      ({ measured }) =>
        map(measured.firstPacket, ({ last, direct }) => ratio(last.p50, direct.p50)),
    ],
  ])
}

export function costTable(cells: readonly Cell[]): string {
  return table(cells, [
    ...PLACE,
    ['idle CPU, %', ({ measured }) => map(measured.idle, (each) => each.cpuPercent.toFixed(2))],
    [
      'without its busiest 5 s, %',
      ({ measured }) => map(measured.idle, (each) => each.quietPercent.toFixed(2)),
    ],
    [
      'machine busy meanwhile, %',
      ({ measured }) => map(measured.idle, (each) => each.machinePercent.toFixed(0)),
    ],
    ['peak after sync, MiB', ({ measured }) => map(measured.memory, (each) => mib(each.afterSync))],
    [
      'peak at the end, MiB',
      ({ measured }) => map(measured.memory, (each) => mib(each.daemonPeak)),
    ],
    [
      'of it anonymous at the end, MiB',
      ({ measured }) => map(measured.memory, (each) => mib(each.daemonAnonymous)),
    ],
    ['heap used, MiB', ({ measured }) => map(measured.memory, (each) => mib(each.heapUsed))],
    [
      'largest child, MiB',
      ({ measured }) => map(measured.memory, (each) => mib(each.largestChild)),
    ],
    [
      'daemon + child, MiB',
      ({ measured }) => map(measured.memory, (each) => mib(each.daemonPeak + each.largestChild)),
    ],
    ['raw restore, MiB', ({ measured }) => map(measured.rawFullSync, (each) => mib(each.peakKib))],
  ])
}

export function objectsTable(cells: readonly Cell[]): string {
  return table(cells, [
    ...PLACE,
    ['chains', ({ measured }) => map(measured.objects, ({ chains }) => count(chains))],
    ['rules', ({ measured }) => map(measured.objects, ({ rules }) => count(rules))],
    ['sets', ({ measured }) => map(measured.objects, ({ sets }) => count(sets))],
    [
      'restore text, MiB',
      ({ measured }) => map(measured.rawFullSync, (each) => (each.bytes / 1_048_576).toFixed(2)),
    ],
  ])
}
