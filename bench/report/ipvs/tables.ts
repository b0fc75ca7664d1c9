import type { ConnectTime } from '../results.ts'
import { count, fixed, map, mib, milliseconds, ratio, seconds } from '../show.ts'
import { median, quantile, spread } from '../statistics.ts'
import { type Column, table } from '../table.ts'
import type { IpvsCell, IpvsMeasured } from './results.ts'

const SIZE: Column<IpvsCell> = ['Services', ({ services }) => count(services)]

export function fullSyncTable(cells: readonly IpvsCell[]): string {
  return table(cells, [
    SIZE,
    ['messages', ({ measured: { rawFullSync } }) => rawFullSync && count(rawFullSync.messages)],
    ['raw, s', ({ measured: { rawFullSync } }) => rawFullSync && seconds(rawFullSync.sender)],
    ['from listed, s', ({ measured: { fullSync } }) => fullSync && seconds(fullSync.fromListed)],
    ['from start, s', ({ measured: { fullSync } }) => fullSync && seconds(fullSync.fromStart)],
    [
      'listed ÷ raw',
      ({ measured: { fullSync, rawFullSync } }) =>
        fullSync && rawFullSync && ratio(median(fullSync.fromListed), median(rawFullSync.sender)),
    ],
    [
      'ipvsadm --restore, s',
      ({ measured: { rawFullSync } }) => rawFullSync && seconds(rawFullSync.ipvsadm),
    ],
    [
      'raw CPU, s',
      ({ measured }) => map(measured.rawFullSync, (raw) => fixed(raw.senderCpuSeconds)),
    ],
    ['CPU, s', ({ measured: { fullSync } }) => fullSync && fixed(fullSync.cpuSeconds)],
    ['', ({ unfinished }) => unfinished ?? ''],
  ])
}

/** One endpoint replaced, or a Service added: the same columns. */
export function changeTable(cells: readonly IpvsCell[], what: 'replace' | 'add'): string {
  const raw = what === 'replace' ? 'rawReplace' : 'rawAdd'
  const ours = ({ measured }: IpvsCell) => measured[what]
  return table(cells, [
    SIZE,
    ['raw round trip, ms', ({ measured }) => map(measured[raw], (ms) => spread(ms, 1))],
    [
      'watch: write → event, ms',
      ({ measured }) => map(measured.watch, ({ fromSent }) => spread(fromSent, 1)),
    ],
    ['write → kernel p50, ms', (cell) => map(ours(cell), ({ fromSent }) => spread(fromSent, 1))],
    ['p99, ms', (cell) => map(ours(cell), ({ fromSent }) => p99(fromSent))],
    [
      'answer → kernel p50, ms',
      (cell) => map(ours(cell), ({ fromAnswered }) => spread(fromAnswered, 1)),
    ],
    ['p99, ms', (cell) => map(ours(cell), ({ fromAnswered }) => p99(fromAnswered))],
    ['(write → kernel − watch) ÷ raw', ({ measured }) => ownShare(measured, what)],
    ['CPU, ms', (cell) => map(ours(cell), (each) => milliseconds(each.cpuSecondsEach))],
  ])
}

export function burstTable(cells: readonly IpvsCell[]): string {
  return table(cells, [
    SIZE,
    ['raw, ms', ({ measured }) => map(measured.rawBurst, (ms) => spread(ms, 0))],
    [
      'first write → all in the kernel, ms',
      ({ measured }) => map(measured.burst, ({ fromSent }) => spread(fromSent, 0)),
    ],
    [
      'last answer → all in the kernel, ms',
      ({ measured }) => map(measured.burst, ({ fromAnswered }) => spread(fromAnswered, 0)),
    ],
    [
      '÷ one change',
      ({ measured: { burst, replace } }) =>
        burst && replace && ratio(median(burst.fromSent), median(replace.fromSent)),
    ],
    ['CPU, ms', ({ measured }) => map(measured.burst, (each) => milliseconds(each.cpuSecondsEach))],
  ])
}

export function clearTable(cells: readonly IpvsCell[]): string {
  return table(cells, [
    SIZE,
    ['clear → notice, s', ({ measured: { clear } }) => clear && seconds(clear.toNotice)],
    ['notice → repaired, s', ({ measured: { clear } }) => clear && seconds(clear.toRepair)],
    [
      'raw: the same messages, s',
      ({ measured: { rawFullSync } }) => rawFullSync && seconds(rawFullSync.sender),
    ],
    [
      'repaired ÷ raw',
      ({ measured: { clear, rawFullSync } }) =>
        clear && rawFullSync && ratio(median(clear.toRepair), median(rawFullSync.sender)),
    ],
    ['ipvsadm -C and --restore, s', ({ measured: { rawClear } }) => rawClear && seconds(rawClear)],
  ])
}

export function firstPacketTable(cells: readonly IpvsCell[]): string {
  const show = ({ p50, p90 }: ConnectTime) => `${p50.toFixed(0)} / ${p90.toFixed(0)}`
  const beside = ({ measured }: IpvsCell) => measured.iptables?.firstPacket
  return table(cells, [
    SIZE,
    ['no NAT, µs', ({ measured }) => map(measured.firstPacket, ({ direct }) => show(direct))],
    [
      'ipvs: first Service, µs',
      ({ measured }) => map(measured.firstPacket, ({ first }) => show(first)),
    ],
    [
      'ipvs: last Service, µs',
      ({ measured }) => map(measured.firstPacket, ({ last }) => show(last)),
    ],
    ['iptables: no NAT, µs', (cell) => map(beside(cell), ({ direct }) => show(direct))],
    ['iptables: first Service, µs', (cell) => map(beside(cell), ({ first }) => show(first))],
    ['iptables: last Service, µs', (cell) => map(beside(cell), ({ last }) => show(last))],
    ['ipvs − no NAT, µs', ({ measured }) => map(measured.firstPacket, added)],
    ['iptables − no NAT, µs', (cell) => map(beside(cell), added)],
  ])
}

export function costTable(cells: readonly IpvsCell[]): string {
  return table(cells, [
    SIZE,
    ['idle CPU, %', ({ measured }) => map(measured.idle, (each) => each.cpuPercent.toFixed(2))],
    [
      'without its busiest 5 s, %',
      ({ measured }) => map(measured.idle, (each) => each.quietPercent.toFixed(2)),
    ],
    ['peak after sync, MiB', ({ measured }) => map(measured.memory, (each) => mib(each.afterSync))],
    [
      'peak at the end, MiB',
      ({ measured }) => map(measured.memory, (each) => mib(each.daemonPeak)),
    ],
    [
      'resident at the end, MiB',
      ({ measured }) => map(measured.memory, (each) => mib(each.daemonResident)),
    ],
    [
      'of it anonymous, MiB',
      ({ measured }) => map(measured.memory, (each) => mib(each.daemonAnonymous)),
    ],
    ['heap used, MiB', ({ measured }) => map(measured.memory, (each) => mib(each.heapUsed))],
    [
      'raw sender’s peak, MiB',
      ({ measured }) => map(measured.rawFullSync, (raw) => mib(raw.senderPeakKib)),
    ],
    [
      'others on the machine, %',
      ({ othersPercent }) => map(othersPercent, (each) => each.toFixed(0)),
    ],
  ])
}

function p99(samples: readonly number[]): string {
  return quantile(samples, 0.99).toFixed(1)
}

/** The daemon's own part of a change, as a multiple of the raw round trip. */
function ownShare(measured: Partial<IpvsMeasured>, what: 'replace' | 'add'): string | undefined {
  const { watch } = measured
  const raw = what === 'replace' ? measured.rawReplace : measured.rawAdd
  const ours = measured[what]
  if (ours === undefined || raw === undefined || watch === undefined) return undefined
  return ratio(median(ours.fromSent) - median(watch.fromSent), median(raw))
}

function added({ direct, last }: NonNullable<IpvsMeasured['firstPacket']>): string {
  return (last.p50 - direct.p50).toFixed(0)
}
