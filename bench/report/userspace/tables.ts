import { count, map, mib } from '../show.ts'
import { median, spread } from '../statistics.ts'
import { type Column, table } from '../table.ts'
import { type Compared, FOR_MESSAGES, FOR_STREAMS, medianRatio, ratios } from './ratio.ts'
import type { SubjectName, UserspaceCell, UserspaceMeasured } from './results.ts'

const LABELS: Readonly<Record<SubjectName, readonly [program: string, how: string]>> = {
  direct: ['no proxy', 'routed'],
  dnat: ['no proxy', 'iptables, DNAT'],
  'haproxy-splice': ['HAProxy', 'splice'],
  'haproxy-auto': ['HAProxy', 'splice-auto'],
  'haproxy-copy': ['HAProxy', 'copies'],
  nginx: ['nginx', 'stream'],
  native: ['node-proxy', 'native'],
  javascript: ['node-proxy', 'javascript'],
}

const WHO: readonly Column<UserspaceCell>[] = [
  ['', ({ subject }) => LABELS[subject][0]],
  ['how', ({ subject }) => LABELS[subject][1]],
]

export function label(subject: SubjectName): string {
  return LABELS[subject].join(', ')
}

export function throughputTable(cells: readonly UserspaceCell[]): string {
  const columns = (what: 'stream' | 'streams', connections: string): Column<UserspaceCell>[] => [
    ...compared(cells, `${connections}, GB/s`, 2, {
      pick: (all) => all[what]?.gigabytesPerSecond,
      against: FOR_STREAMS,
    }),
    ['CPU, s/GB', ({ measured }) => cpu(measured[what]?.cpuSecondsPerGigabyte)],
  ]
  const all = [...columns('stream', '1 connection'), ...columns('streams', '64 connections')]
  return table(cells, [...WHO, ...all, ['', ({ unfinished }) => unfinished ?? '']])
}

export function connectionsTable(cells: readonly UserspaceCell[]): string {
  return table(cells, [
    ...WHO,
    ...compared(cells, 'per second', 0, {
      pick: ({ connections }) => connections?.perSecond,
      against: FOR_MESSAGES,
    }),
    ['failed', ({ measured }) => total(measured.connections?.failures)],
  ])
}

export function latencyTable(cells: readonly UserspaceCell[]): string {
  const direct = cells.find(({ subject }) => subject === 'direct')
  const columns = (what: 'roundTrip' | 'firstByte', name: string): Column<UserspaceCell>[] => [
    ...compared(cells, `${name} p50, µs`, 1, {
      pick: (all) => all[what]?.p50,
      against: FOR_MESSAGES,
    }),
    ['added', ({ measured }) => added(measured[what]?.p50, direct?.measured[what]?.p50)],
    ['p99, µs', ({ measured }) => map(measured[what]?.p99, (p99) => spread(p99, 0))],
  ]
  return table(cells, [
    ...WHO,
    ...columns('roundTrip', 'round trip'),
    ...columns('firstByte', 'first byte'),
  ])
}

export function idleTable(cells: readonly UserspaceCell[]): string {
  const proxies = cells.filter(({ measured }) => measured.idle !== undefined)
  return table(proxies, [
    ...WHO,
    ['connections', ({ measured }) => map(measured.idle, (idle) => count(idle.connections))],
    ...compared(proxies, 'KiB each', 1, {
      pick: ({ idle }) => idle?.kibibytesEach,
      against: FOR_MESSAGES,
    }),
    [
      'from the 500th on, KiB each',
      ({ measured }) => map(measured.idle, (idle) => spread(idle.laterKibibytesEach, 1)),
    ],
    [
      'at the start, MiB',
      ({ measured }) => map(measured.idle, (idle) => mib(median(idle.startKibibytes))),
    ],
    ['CPU, %', ({ measured }) => map(measured.idle, (idle) => spread(idle.cpuPercent, 2))],
    ['failed', ({ measured }) => total(measured.idle?.failures)],
  ])
}

/** The throughput of 64 connections without a proxy, divided by that of the fastest proxy. */
export function headroom(cells: readonly UserspaceCell[]): number | undefined {
  const speed: Compared = {
    pick: ({ streams }) => streams?.gigabytesPerSecond,
    against: FOR_STREAMS,
  }
  const isProxy = ({ subject }: UserspaceCell) => subject !== 'direct' && subject !== 'dnat'
  const proxies = cells.filter(isProxy).flatMap((cell) => medianRatio(cell, cells, speed) ?? [])
  const direct = cells.find(({ subject }) => subject === 'direct')
  const fastest = Math.max(...proxies)
  const ratio = direct && medianRatio(direct, cells, speed)
  return ratio && ratio / fastest
}

/** A figure, and its ratio to that of HAProxy in one of its settings. */
function compared(
  cells: readonly UserspaceCell[],
  name: string,
  digits: number,
  comparison: Compared,
): readonly Column<UserspaceCell>[] {
  return [
    [name, ({ measured }) => map(comparison.pick(measured), (figures) => spread(figures, digits))],
    [
      `÷ HAProxy, ${LABELS[comparison.against][1]}`,
      (cell) => spread(ratios(cell, cells, comparison), 2),
    ],
  ]
}

/** The processor time as text; undefined if there is no process. */
function cpu(figures: readonly number[] | undefined): string | undefined {
  return figures === undefined || median(figures) === 0 ? undefined : spread(figures, 2)
}

function added(ours: readonly number[] | undefined, direct: readonly number[] | undefined) {
  return ours && direct && (median(ours) - median(direct)).toFixed(1)
}

function total(figures: UserspaceMeasured['idle']['failures'] | undefined): string | undefined {
  return map(figures, (each) => count(each.reduce((sum, figure) => sum + figure, 0)))
}
