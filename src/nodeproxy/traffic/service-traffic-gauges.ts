import type { ServiceKey } from '../../forwarding/entry.ts'
import type { TrafficNumbers, TrafficReading } from '../../modes/mode.ts'
import type { Metrics } from '../../telemetry/metrics/metrics.ts'

/** The most Services with a row of their own; all others share one. */
const ROWS = 500

const DIRECTIONS = [
  ['in', 'packetsIn', 'bytesIn'],
  ['out', 'packetsOut', 'bytesOut'],
] as const

type ServiceMetrics = Pick<Metrics, 'serviceConnections' | 'servicePackets' | 'serviceBytes'>

/**
 * Publishes what a mode counted of each Service. A Service that has a row keeps it as long as the mode counts it, so
 * that its counters do not jump. Rows that become free go to the Services with the most bytes, or, if bytes are not
 * counted, with the most connections.
 */
export class ServiceTrafficGauges {
  readonly #metrics: ServiceMetrics
  readonly #rows: number
  #shown: ReadonlySet<ServiceKey> = new Set()

  constructor(metrics: ServiceMetrics, rows = ROWS) {
    this.#metrics = metrics
    this.#rows = rows
  }

  /** `traffic` undefined: nothing is counted, or it cannot be read now; then there are no rows. */
  refresh(traffic: TrafficReading['totals'] | undefined): void {
    this.#metrics.serviceConnections.reset()
    this.#metrics.servicePackets.reset()
    this.#metrics.serviceBytes.reset()
    if (traffic === undefined) return
    this.#shown = choose(traffic, this.#shown, this.#rows)
    for (const [service, counts] of traffic) {
      this.#add(this.#shown.has(service) ? service : undefined, counts)
    }
  }

  #add(service: ServiceKey | undefined, counts: TrafficNumbers): void {
    const [service_namespace = '', service_name = ''] = service?.split('/') ?? []
    const { connections } = counts
    if (connections !== undefined) {
      this.#metrics.serviceConnections.inc({ service_namespace, service_name }, connections)
    }
    for (const [direction, packets, bytes] of DIRECTIONS) {
      const labels = { service_namespace, service_name, direction }
      const { [packets]: packetCount, [bytes]: byteCount } = counts
      if (packetCount !== undefined) this.#metrics.servicePackets.inc(labels, packetCount)
      if (byteCount !== undefined) this.#metrics.serviceBytes.inc(labels, byteCount)
    }
  }
}

function choose(
  traffic: ReadonlyMap<ServiceKey, TrafficNumbers>,
  shown: ReadonlySet<ServiceKey>,
  rows: number,
): ReadonlySet<ServiceKey> {
  const kept = [...shown].filter((service) => traffic.has(service))
  const others = [...traffic]
    .filter(([service]) => !shown.has(service))
    .toSorted(([, a], [, b]) => sizeOf(b) - sizeOf(a))
  return new Set([...kept, ...others.map(([service]) => service)].slice(0, rows))
}

function sizeOf({ bytesIn, bytesOut = 0, connections = 0 }: TrafficNumbers): number {
  return bytesIn === undefined ? connections : bytesIn + bytesOut
}
