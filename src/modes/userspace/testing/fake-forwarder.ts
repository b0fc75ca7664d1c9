import type { EntryId } from '../../../forwarding/entry.ts'
import type { Family } from '../../../lib/ip.ts'
import type { KernelError, TrafficCounts } from '../../mode.ts'
import type { Forwarder, RedirectPorts } from '../forwarder.ts'
import type { RouteTraffic } from '../read-traffic.ts'
import type { Route, RouteListener } from '../route.ts'

const NONE: TrafficCounts = {
  connections: 0,
  connectionsNow: 0,
  udpFlows: 0,
  udpFlowsNow: 0,
  bytesIn: 0,
  bytesOut: 0,
  connectFailures: 0,
  connectRetries: 0,
  unserved: 0,
  overLimit: 0,
  evicted: 0,
  outsideRanges: 0,
  drainedOut: 0,
  setAsideNow: 0,
  drainingNow: 0,
  affinityClientsNow: 0,
  affinityEvicted: 0,
}

/** Moves no bytes, keeps the routes that it was given, and refuses what a real one would. */
export class FakeForwarder implements Forwarder {
  readonly dataPath = 'native'
  readonly workers = 2
  readonly ownPorts: Set<number>
  readonly ports: ReadonlyMap<Family, RedirectPorts>
  readonly routes = new Map<EntryId, Route>()
  /** The entries of each call of `apply`. */
  readonly applied: (readonly EntryId[])[] = []
  /** Addresses at which another process listens, as `TCP 127.0.0.1 80`. */
  readonly taken = new Set<string>()
  /** What the workers counted. */
  traffic: readonly RouteTraffic[] = []
  /** Ends the last connection of a forwarder that drains. */
  endConnections: () => void = () => {}
  #isOpen = true
  #drainingNow = 0

  constructor(
    ports: ReadonlyMap<Family, RedirectPorts> = new Map([
      [4, { pods: 41_001, others: 41_002 }],
      [6, { pods: 61_001, others: 61_002 }],
    ]),
  ) {
    this.ports = ports
    this.ownPorts = new Set([...ports.values()].flatMap(({ pods, others }) => [pods, others]))
  }

  async apply(
    changes: ReadonlyMap<EntryId, Route | undefined>,
  ): Promise<ReadonlyMap<EntryId, KernelError>> {
    if (!this.#isOpen) throw new Error('the forwarder is closed')
    this.applied.push([...changes.keys()])
    for (const id of changes.keys()) this.routes.delete(id)
    const refused = new Map<EntryId, KernelError>()
    for (const [id, route] of changes) {
      if (route === undefined) continue
      const refusal = this.#refusalOf(id, route)
      if (refusal) refused.set(id, refusal)
      const listeners = route.listeners.filter((one) => !this.taken.has(nameOf(route, one)))
      if (refusal === undefined) this.routes.set(id, route)
      else if (listeners.length > 0 && listeners.length < route.listeners.length) {
        this.routes.set(id, { ...route, listeners })
      }
    }
    return refused
  }

  counts(): TrafficCounts {
    return { ...NONE, drainingNow: this.#drainingNow }
  }

  async routeTraffic(): Promise<readonly RouteTraffic[]> {
    return this.traffic
  }

  /** A backend left and still has connections. */
  setDraining(backends: number): void {
    this.#drainingNow = backends
  }

  async untilIdle(): Promise<void> {}

  drain(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.endConnections = resolve
      if (signal.aborted) resolve()
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
  }

  async close(): Promise<void> {
    this.#isOpen = false
    this.routes.clear()
  }

  #refusalOf(id: EntryId, route: Route): KernelError | undefined {
    if (route.id !== id) throw new TypeError(`${id} is given the route of ${route.id}`)
    const others = [...this.routes.values()].flatMap(listenersOf)
    const lost = listenersOf(route).find((listener, index, all) => {
      return others.includes(listener) || this.taken.has(listener) || all.indexOf(listener) < index
    })
    if (lost === undefined) return undefined
    return { code: 'NP_USERSPACE_LISTEN', message: `${lost}: EADDRINUSE` }
  }
}

function listenersOf(route: Route): readonly string[] {
  return route.listeners.map((one) => nameOf(route, one))
}

function nameOf({ protocol }: Route, { ip, port }: RouteListener): string {
  return `${protocol} ${ip} ${port}`
}
