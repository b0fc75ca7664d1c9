import type { Contestant } from '../contest.ts'
import type { Exchanges } from '../load/order.ts'
import type { Sample } from '../sample.ts'

/** Connections, or streams, at the same time. */
const CONCURRENCY = 32
const STREAMS = 64

/** Measures one figure of one subject in one round, with `ms` milliseconds of load. */
export type TakeFigure = (contestant: Contestant, ms: number) => Promise<Sample>

/** The figures in the order of a round: every subject is measured for one figure before the next figure. */
export const FIGURES: Readonly<Record<string, TakeFigure>> = {
  'one stream': async (contestant, ms) => ({ stream: await streams(contestant, 1, ms) }),
  streams: async (contestant, ms) => ({ streams: await streams(contestant, STREAMS, ms) }),
  connections: async (contestant, ms) => {
    const load = { connections: CONCURRENCY, ms }
    const { perSecond, failures } = await contestant.request('exchanges', load)
    return { connections: { perSecond: [perSecond], failures: [failures] } }
  },
  'round trip': async (contestant, ms) => ({
    roundTrip: latency(await contestant.request('roundTrips', { ms })),
  }),
  'first byte': async (contestant, ms) => ({
    firstByte: latency(await contestant.request('exchanges', { ms })),
  }),
}

async function streams(contestant: Contestant, connections: number, ms: number) {
  const report = await contestant.request('stream', { connections, ms })
  return {
    gigabytesPerSecond: [report.gigabytesPerSecond],
    cpuSecondsPerGigabyte: [report.cpuSecondsPerGigabyte],
  }
}

function latency({ p50, p99, failures }: Exchanges) {
  return { p50: [p50], p99: [p99], failures: [failures] }
}
