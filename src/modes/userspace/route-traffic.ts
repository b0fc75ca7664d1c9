import type { EntryId, ServiceKey } from '../../forwarding/entry.ts'
import type { IpAddress } from '../../lib/ip.ts'

/** Payload bytes; `connections`: established ones, and UDP flows. Packets are not known here. */
export interface Tally {
  readonly connections: number
  readonly connectionsNow: number
  readonly bytesIn: number
  readonly bytesOut: number
}

/** What one backend of a route received and sent. */
export interface RouteBackendTraffic extends Tally {
  readonly ip: IpAddress
  readonly port: number
}

/** What one worker counted of one route. */
export interface RouteTraffic {
  readonly id: EntryId
  readonly service: ServiceKey
  /** With backends that are gone. */
  readonly total: Tally
  /** Those that had a connection. */
  readonly backends: readonly RouteBackendTraffic[]
}
