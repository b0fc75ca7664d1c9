import type { EntryId, ForwardingEntry, ServiceKey } from '../../forwarding/entry.ts'
import type { IpAddress } from '../../lib/ip.ts'
import {
  addNumbers,
  BackendSums,
  type ReadTraffic,
  type TrafficNumbers,
  type TrafficReading,
} from '../mode.ts'

/** Payload bytes; `connections` counts established ones, and UDP flows. Packets are not counted. */
export interface Tally {
  readonly connections: number
  readonly connectionsNow: number
  readonly bytesIn: number
  readonly bytesOut: number
}

/** What one worker counted of one route. */
export interface RouteTraffic {
  readonly id: EntryId
  readonly service: ServiceKey
  /** Includes backends that are gone. */
  readonly total: Tally
  /** Only backends that had a connection. */
  readonly backends: readonly RouteBackendTraffic[]
}

const NONE = { connections: 0, connectionsNow: 0, bytesIn: 0, bytesOut: 0 } as const

/** The forwarder that counts, and what is forwarded. */
interface Sources {
  readonly forwarder: { routeTraffic(withBackends: boolean): Promise<readonly RouteTraffic[]> }
  readonly program: { entries(): Iterable<ForwardingEntry> }
}

/** Requests the counts of all workers; a route without a connection costs almost nothing. */
export function readTraffic({ forwarder, program }: Sources): ReadTraffic {
  return async (isWanted) => {
    const counted = await forwarder.routeTraffic(isWanted !== undefined)
    const totals = totalsOf(counted)
    if (isWanted === undefined) return { totals, backends: new Map() }
    const wanted = [...program.entries()].filter(({ service }) => isWanted(service))
    return { totals, backends: backendsOf(counted, wanted) }
  }
}

/** Totals of what all workers counted. */
export function totalsOf(counted: readonly RouteTraffic[]): TrafficReading['totals'] {
  const totals = new Map<ServiceKey, TrafficNumbers>()
  for (const { service, total } of counted) {
    const { connections, bytesIn, bytesOut } = total
    totals.set(service, addNumbers(totals.get(service), { connections, bytesIn, bytesOut }))
  }
  return totals
}

/**
 * The backends of these entries, including those without a connection, and removed ones that still have connections.
 */
export function backendsOf(
  counted: readonly RouteTraffic[],
  entries: Iterable<ForwardingEntry>,
): TrafficReading['backends'] {
  const sums = new BackendSums()
  const wanted = new Set<string>()
  for (const { id: entry, service, pools } of entries) {
    wanted.add(entry)
    const all = new Map(
      [...pools.cluster, ...pools.local].map((one) => [`${one.ip} ${one.port}`, one]),
    )
    for (const { ip, port } of all.values()) sums.add(service, { entry, ip, port, ...NONE })
  }
  for (const { id: entry, service, backends } of counted) {
    if (wanted.has(entry)) for (const backend of backends) sums.add(service, { entry, ...backend })
  }
  return sums.byService
}

/** What one backend of a route received and sent. */
interface RouteBackendTraffic extends Tally {
  readonly ip: IpAddress
  readonly port: number
}
