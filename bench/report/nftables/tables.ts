import type { ConnectTime } from '../results.ts'
import { count, fixed, map, mib, milliseconds, ratio, seconds } from '../show.ts'
import { median, quantile, spread } from '../statistics.ts'
import { type Column, table } from '../table.ts'
import type { CountingTurn, NftablesCell, Wait, Waits } from './results.ts'
import { afterAnswer } from './targets.ts'

const SHAPE: readonly Column<NftablesCell>[] = [
  ['Services', ({ services }) => count(services)],
  ['endpoints of each', ({ endpoints }) => count(endpoints)],
]

export function fullSyncTable(cells: readonly NftablesCell[]): string {
  return table(cells, [
    ...SHAPE,
    ['raw, s', ({ measured: { rawFullSync } }) => rawFullSync && seconds(rawFullSync.ms)],
    ['from listed, s', ({ measured: { fullSync } }) => fullSync && seconds(fullSync.fromListed)],
    ['from start, s', ({ measured: { fullSync } }) => fullSync && seconds(fullSync.fromStart)],
    [
      'listed ÷ raw',
      ({ measured: { fullSync, rawFullSync } }) =>
        fullSync && rawFullSync && ratio(median(fullSync.fromListed), median(rawFullSync.ms)),
    ],
    ['raw CPU, s', ({ measured: { rawFullSync } }) => rawFullSync && fixed(rawFullSync.cpuSeconds)],
    ['CPU, s', ({ measured: { fullSync } }) => fullSync && fixed(fullSync.cpuSeconds)],
    [
      'transactions',
      ({ measured: { rawFullSync } }) => map(rawFullSync, (raw) => count(raw.transactions)),
    ],
    [
      'longest of them, ms',
      ({ measured: { rawFullSync } }) => map(rawFullSync, (raw) => spread(raw.longestMs, 1)),
    ],
    ['', ({ unfinished }) => unfinished ?? ''],
  ])
}

/** One endpoint replaced, or a Service added: the same columns. */
export function changeTable(cells: readonly NftablesCell[], what: 'replace' | 'add'): string {
  const ours = ({ measured }: NftablesCell) => measured[what]
  const raw = ({ measured }: NftablesCell) => (what === 'replace' ? measured.rawReplace : undefined)
  return table(cells, [
    ...SHAPE,
    ['raw p50, ms', (cell) => map(raw(cell), (each) => spread(each, 2))],
    ['write → kernel p50, ms', (cell) => map(ours(cell), (each) => spread(each.ms, 1))],
    ['p99, ms', (cell) => map(ours(cell), (each) => quantile(each.ms, 0.99).toFixed(1))],
    ['API answer, ms', (cell) => map(ours(cell), ({ writeMs }) => median(writeMs).toFixed(1))],
    [
      'answer → kernel p50, ms',
      (cell) => map(ours(cell), (each) => median(afterAnswer(each)).toFixed(1)),
    ],
    ['CPU, ms', (cell) => map(ours(cell), (each) => milliseconds(each.cpuSecondsEach))],
  ])
}

export function burstTable(cells: readonly NftablesCell[]): string {
  return table(cells, [
    ...SHAPE,
    ['raw, ms', ({ measured }) => map(measured.rawBurst, (each) => spread(each, 1))],
    [
      'first write → all in the kernel, ms',
      ({ measured }) => map(measured.burst, (each) => spread(each.ms, 0)),
    ],
    [
      'all API answers, ms',
      ({ measured }) => map(measured.burst, ({ writeMs }) => median(writeMs).toFixed(0)),
    ],
    [
      'last answer → all in the kernel, ms',
      ({ measured }) => map(measured.burst, (each) => spread(afterAnswer(each), 0)),
    ],
  ])
}

/** The longest operation of each round, and the number of operations. */
export function stallTable(cells: readonly NftablesCell[]): string {
  const columns = (['transaction', 'list', 'packet'] as const).flatMap(
    (name): readonly Column<NftablesCell>[] => [
      [`${name}, quiet, ms`, ({ measured }) => map(measured.stall?.quiet, longest(name))],
      [`${name}, cold start, ms`, ({ measured }) => map(measured.stall?.coldStart, longest(name))],
    ],
  )
  return table(cells, [
    ...SHAPE,
    ...columns,
    ['p99 of each, cold start, ms', ({ measured }) => map(measured.stall?.coldStart, p99s)],
    ['times of each', ({ measured }) => map(measured.stall?.coldStart, counts)],
  ])
}

export function firstPacketTable(cells: readonly NftablesCell[]): string {
  const show = ({ p50, p90 }: ConnectTime) => `${p50.toFixed(1)} / ${p90.toFixed(1)}`
  return table(cells, [
    ...SHAPE,
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

export function costTable(cells: readonly NftablesCell[]): string {
  return table(cells, [
    ...SHAPE,
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
  ])
}

export function objectsTable(cells: readonly NftablesCell[]): string {
  return table(cells, [
    ...SHAPE,
    ['chains', ({ measured }) => map(measured.objects, ({ chains }) => count(chains))],
    ['rules', ({ measured }) => map(measured.objects, ({ rules }) => count(rules))],
    ['sets and maps', ({ measured }) => map(measured.objects, ({ sets }) => count(sets))],
    ['elements', ({ measured }) => map(measured.objects, ({ elements }) => count(elements))],
    [
      'netlink, MiB',
      ({ measured }) => map(measured.rawFullSync, (each) => (each.bytes / 1_048_576).toFixed(2)),
    ],
  ])
}

/** Each turn is one sample: how much longer the round trip of a byte takes through a Service than without one. */
export function countingTable(cells: readonly NftablesCell[]): string {
  const shares = (turns: readonly CountingTurn[]) =>
    turns.map(({ forwarded, direct }) => forwarded / direct)
  const measuredCells = cells.filter(({ measured }) => measured.counting)
  return table(measuredCells, [
    ...SHAPE,
    [
      'no Service, µs',
      ({ measured }) =>
        map(measured.counting, (each) =>
          spread(
            [...each.without, ...each.with].map(({ direct }) => direct),
            1,
          ),
        ),
    ],
    [
      'Service ÷ none',
      ({ measured }) => map(measured.counting, (each) => spread(shares(each.without), 3)),
    ],
    [
      'counted ÷ none',
      ({ measured }) => map(measured.counting, (each) => spread(shares(each.with), 3)),
    ],
    [
      'counters cost, %',
      ({ measured }) =>
        map(measured.counting, (each) =>
          ((median(shares(each.with)) / median(shares(each.without)) - 1) * 100).toFixed(1),
        ),
    ],
  ])
}

function longest(name: keyof Waits): (waits: Waits) => string {
  return (waits) => spread(waits[name].longest, 1)
}

function p99s(waits: Waits): string {
  return each(waits, ({ p99 }) => median(p99).toFixed(1))
}

function counts(waits: Waits): string {
  return each(waits, (wait) => count(median(wait.count)))
}

function each({ transaction, list, packet }: Waits, show: (wait: Wait) => string): string {
  return [transaction, list, packet].map(show).join(' / ')
}
