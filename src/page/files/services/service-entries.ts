import type { BackendMessage, BackendTrafficMessage, EntryMessage } from '../data/messages.ts'
import { hostPort } from '../text/format.ts'
import {
  bytesOf,
  ratesBetween,
  type TrafficCounts,
  type TrafficSample,
  trafficCounts,
} from '../traffic/traffic-rates.ts'

/** One backend of an entry, with its traffic. */
export interface BackendRow {
  readonly address: string
  /** Its properties: `on this node`, `drains`. */
  readonly marks: readonly string[]
  readonly weight: number
  /** Its share of the connections of its entry, 0 to 1; undefined: they are not counted, or there are none. */
  readonly share: number | undefined
  readonly connections: number | undefined
  readonly connectionsPerSecond: number | undefined
  readonly bytes: number | undefined
  readonly bytesPerSecond: number | undefined
}

/** The counters of backends at one moment. */
export function backendSample(
  at: number,
  backends: readonly BackendTrafficMessage[],
): TrafficSample {
  const counts = backends.map(
    ({ entry = '', ip = '', port, traffic }) =>
      [nameOf(entry, ip, port), trafficCounts(traffic)] as const,
  )
  return { at, counts: new Map(counts) }
}

/** The backends of an entry with their traffic between two samples. */
export function backendRows(
  { id, backends = [] }: EntryMessage,
  [before, after]: readonly [TrafficSample | undefined, TrafficSample | undefined],
): readonly BackendRow[] {
  const names = backends.map(({ ip = '', port }) => nameOf(id, ip, port))
  const counts = names.map((name) => after?.counts.get(name))
  const total = counts.reduce((sum, one) => sum + (one?.connections ?? 0), 0)
  return backends.map((backend, index) => {
    const { ip = '', port, weight = 0 } = backend
    const count: TrafficCounts | undefined = counts[index]
    const rates = after === undefined ? undefined : ratesBetween(before, after, names[index] ?? '')
    return {
      address: hostPort(ip, port),
      marks: marksOf(backend),
      weight,
      connections: count?.connections,
      connectionsPerSecond: rates?.connections,
      bytes: count === undefined ? undefined : bytesOf(count),
      bytesPerSecond: rates?.bytes,
      share:
        total === 0 || count?.connections === undefined ? undefined : count.connections / total,
    }
  })
}

function nameOf(entry: string, ip: string, port: number | undefined): string {
  return `${entry} ${ip} ${port ?? 0}`
}

function marksOf(backend: BackendMessage): readonly string[] {
  const { isLocal = false, inClusterPool = false, inLocalPool = false, drainingUntil } = backend
  const isDraining = Number(drainingUntil ?? 0) > 0
  return [
    ...(isLocal ? ['on this node'] : []),
    ...(isDraining ? ['drains'] : []),
    ...(inClusterPool || inLocalPool || isDraining ? [] : ['not used here']),
  ]
}
