import type { TrafficJson } from '../../../inspection/generated/inspection_pb.ts'
import type { ServiceTrafficMessage } from '../data/node-api.ts'

/** Counters as numbers; undefined: the mode does not count it. */
export interface TrafficCounts {
  readonly connections: number | undefined
  readonly connectionsNow: number | undefined
  readonly bytesIn: number | undefined
  readonly bytesOut: number | undefined
}

/** Counters of one moment. */
export interface TrafficSample {
  /** Milliseconds. */
  readonly at: number
  readonly counts: ReadonlyMap<string, TrafficCounts>
}

/** Rates per second; undefined: not known, or not yet known. */
export interface TrafficRates {
  readonly connections: number | undefined
  readonly bytes: number | undefined
}

export const NO_RATES: TrafficRates = { connections: undefined, bytes: undefined }

export function trafficCounts(message: TrafficJson = {}): TrafficCounts {
  const { connections, connectionsNow, bytesIn, bytesOut } = message
  return {
    connections: numberOf(connections),
    connectionsNow: numberOf(connectionsNow),
    bytesIn: numberOf(bytesIn),
    bytesOut: numberOf(bytesOut),
  }
}

/** The counters of a Service. If connections are counted only for backends, their sum. */
export function serviceCounts({ total, backends = [] }: ServiceTrafficMessage): TrafficCounts {
  const counts = trafficCounts(total)
  const ofBackends = backends.flatMap((one) => numberOf(one.traffic?.connections) ?? [])
  if (counts.connections !== undefined || ofBackends.length === 0) return counts
  return { ...counts, connections: ofBackends.reduce((sum, count) => sum + count, 0) }
}

function numberOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text)
}

/** Bytes in both directions. */
export function bytesOf({ bytesIn, bytesOut }: TrafficCounts): number | undefined {
  return bytesIn === undefined && bytesOut === undefined
    ? undefined
    : (bytesIn ?? 0) + (bytesOut ?? 0)
}

/** Rates between two samples of one name. A counter that was reset has no rate. */
export function ratesBetween(
  before: TrafficSample | undefined,
  after: TrafficSample,
  name: string,
): TrafficRates {
  const [old, now] = [before?.counts.get(name), after.counts.get(name)]
  if (before === undefined || old === undefined || now === undefined) return NO_RATES
  const seconds = (after.at - before.at) / 1_000
  const rate = (from: number | undefined, to: number | undefined) => {
    if (from === undefined || to === undefined || to < from || seconds <= 0) return undefined
    return (to - from) / seconds
  }
  return {
    connections: rate(old.connections, now.connections),
    bytes: rate(bytesOf(old), bytesOf(now)),
  }
}
