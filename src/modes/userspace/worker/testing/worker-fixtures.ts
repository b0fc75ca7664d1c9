import { createAffinityMemory } from '../../../../affinity/affinity-memory.ts'
import { AffinityTable } from '../../../../affinity/affinity-table.ts'
import type { Backend, EntryId, ServiceKey } from '../../../../forwarding/entry.ts'
import { type SocketAddress, socketAddress } from '../../../../kernel/sockets/socket-address.ts'
import { type IpAddress, parseIp } from '../../../../lib/ip.ts'
import type { Route } from '../../route.ts'
import { Counters, createCounterMemory } from '../counters.ts'
import { ServedRoute } from '../served-route.ts'
import type { Session } from '../session-table.ts'

/** For the tests of this folder. */

export const DRAIN_MS = 1000

/** The first backend is chosen first: nothing begins at random. */
export const NO_CHANCE = { uuid: () => '', below: () => 0 }

const ip = (text: string) => parseIp(text) as IpAddress
const backend = (address: string): Backend => {
  return { ip: ip(address), port: 8080, weight: 1, local: false }
}

const LISTENER = { ip: ip('10.96.0.1'), port: 80, sourceRanges: undefined }

export function route(overrides: Partial<Route> = {}): Route {
  const cluster = [backend('10.1.0.1'), backend('10.1.0.2')]
  return {
    id: 'shop/cart:http/TCP/4' as EntryId,
    service: 'shop/cart' as ServiceKey,
    protocol: 'TCP',
    family: 4,
    listeners: [{ ...LISTENER, pools: { pods: 'cluster', others: 'cluster' } }],
    pools: { cluster, local: [] },
    balancing: 'rr',
    affinity: undefined,
    proxyProtocol: undefined,
    ...overrides,
  }
}

export function served(overrides: Partial<Route> = {}): ServedRoute {
  return new ServedRoute(route(overrides), 0, { drainMs: DRAIN_MS, random: NO_CHANCE })
}

export function at(address: string, port = 80): SocketAddress {
  return socketAddress(ip(address), port)
}

export function newCounters(): Counters {
  return new Counters(createCounterMemory())
}

export function affinityTable(): AffinityTable {
  return new AffinityTable(createAffinityMemory(16, { below: () => 1 }))
}

/** A session that only remembers whether it was ended. */
export class FakeSession implements Session {
  readonly protocol: 'TCP' | 'UDP'
  readonly client: string
  lastActive = 0
  bytesIn = 0
  bytesOut = 0
  isAborted = false
  readonly #onAbort: ((session: FakeSession) => void) | undefined

  constructor(
    protocol: 'TCP' | 'UDP' = 'TCP',
    given: { readonly client?: string; readonly onAbort?: (session: FakeSession) => void } = {},
  ) {
    this.protocol = protocol
    this.client = given.client ?? 'client'
    this.#onAbort = given.onAbort
  }

  abort(): void {
    this.isAborted = true
    this.#onAbort?.(this)
  }
}
