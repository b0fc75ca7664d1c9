import { count, map } from '../show.ts'
import { table } from '../table.ts'
import type {
  PacketCosts,
  PacketFigure,
  PolicyResults,
  Quartiles,
  Spread,
  StartTimes,
  SyncCosts,
  SyncFigure,
  Times,
} from './results.ts'

/** Everything about policies, as a part of the page. */
export function policySection({ sync, packets, start }: PolicyResults): string {
  const parts = [
    sync && syncPart(sync),
    packets && packetPart(packets),
    start && startPart(start),
  ].filter((part) => part !== undefined)
  return `## Policies\n\n${parts.join('\n')}`
}

function syncPart(sync: SyncCosts): string {
  const { policies, local, rounds, figures } = sync
  const shown = (of: Spread | undefined, { name }: SyncFigure) =>
    map(of, ({ median, least, most }) => {
      const [middle, low, high] = [median, least, most].map((one) => one.toFixed(digitsOf(name)))
      return `${middle} (${low}–${high})`
    })
  const body = table(figures, [
    ['Pods elsewhere', ({ peers }) => count(peers)],
    ['', ({ name }) => name],
    ['node-proxy', (figure) => shown(figure.ours, figure)],
    ['raw', (figure) => shown(figure.raw, figure)],
    [
      'factor',
      ({ factor }) =>
        map(
          factor,
          ({ median, least, most }) =>
            `${median.toFixed(1)} (${least.toFixed(1)}–${most.toFixed(1)})`,
        ),
    ],
  ])
  return `### Policies: from events until they are in force

${conditions(sync)} ${policies} policies, ${local} Pods of the node, ${rounds} rounds. *raw* is the same
netlink messages, sent again to an empty kernel.

${body}
`
}

/** Hundredths for what takes a few milliseconds. */
function digitsOf(name: string): number {
  return name.includes('in force') ? 2 : 1
}

function packetPart(packets: PacketCosts): string {
  const { rounds, services, repeated, cases } = packets
  const value = ({ value: all }: PacketFigure, digits: number) => quartiles(all, digits)
  const body = table(cases, [
    [
      'policies on each Pod',
      ({ policies }) => (policies === undefined ? 'no tables' : count(policies)),
    ],
    [' ', () => ''],
    ['new connection, µs', ({ connect }) => value(connect, 1)],
    ['ratio', ({ connect }) => quartiles(connect.ratio, 2)],
    ['byte there and back, µs', ({ roundTrip }) => value(roundTrip, 1)],
    ['ratio', ({ roundTrip }) => quartiles(roundTrip.ratio, 2)],
    ['one stream, Gbit/s', ({ stream }) => value(stream, 1)],
    ['ratio', ({ stream }) => quartiles(stream.ratio, 2)],
  ])
  return `### Policies: packets between two Pods

${conditions(packets)} ${rounds} rounds, beside the rules of ${count(services)} Services: median (quartiles),
and the ratio to the same round without the tables of policies; ${repeated} samples repeated.

${body}
`
}

function quartiles({ median, first, third }: Quartiles, digits: number): string {
  return `${median.toFixed(digits)} (${first.toFixed(digits)}–${third.toFixed(digits)})`
}

function startPart(start: StartTimes): string {
  const { pods, rounds, parallel, reportAfter, settings } = start
  const body = table(settings, [
    ['setting', ({ name }) => name],
    [' ', () => ''],
    ['network up → allowed connection', ({ allowed }) => times(allowed)],
    [
      'address sent to the API server → allowed connection',
      ({ allowedAfterReport }) => times(allowedAfterReport),
    ],
    [
      'network up → the first connection, which TCP tries again',
      ({ firstConnection }) => times(firstConnection),
    ],
    [
      'network up → last packet that no policy allows',
      ({ forbidden }) => map(forbidden?.last, times),
    ],
    [
      'Pods with such packets',
      ({ forbidden }) => map(forbidden, ({ pods: some, of }) => `${some} of ${of}`),
    ],
  ])
  return `### Policies: Pods that start

${conditions(start)} ${pods} Pods in each of ${rounds} rounds, ${parallel} at a time; the API server gets the
address of a Pod ${reportAfter} ms after its network is up. p50, p99 (most); ms.

${body}
`
}

function times({ p50, p99, most }: Times): string {
  const [middle, late, last] = [p50, p99, most].map((ms) => ms?.toFixed(1) ?? 'never')
  return `${middle}, ${late} (${last})`
}

function conditions({
  startedAt,
  machine: { cores, kernel, node },
}: SyncCosts | PacketCosts | StartTimes): string {
  return `${startedAt}; ${cores} cores, Linux ${kernel}, Node ${node}.`
}
