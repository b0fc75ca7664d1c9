import type { ServiceKey } from '../../../forwarding/entry.ts'
import type { Mode, TrafficNumbers } from '../../../modes/mode.ts'
import type { Metrics } from '../../../telemetry/metrics/metrics.ts'

/** Services with a row of their own; all others share one. */
const ROWS = 500

const DIRECTIONS = [
  ['in', 'packetsIn', 'bytesIn'],
  ['out', 'packetsOut', 'bytesOut'],
] as const

/**
 * Publishes what a mode counted of each Service. A Service that has a row keeps it as long as the mode counts it, so
 * that its counters do not jump; rows that become free go to those with the most bytes.
 */
export class ServiceTrafficGauges {
  readonly #metrics: Pick<Metrics, 'servicePackets' | 'serviceBytes'>
  readonly #rows: number
  #shown: ReadonlySet<ServiceKey> = new Set()

  constructor(metrics: Pick<Metrics, 'servicePackets' | 'serviceBytes'>, rows = ROWS) {
    this.#metrics = metrics
    this.#rows = rows
  }

  /** Counters that cannot be read now have no rows. */
  async refresh(mode: Pick<Mode, 'serviceTraffic'> | undefined): Promise<void> {
    const traffic = await mode?.serviceTraffic?.totals().catch(() => undefined)
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

function sizeOf({ bytesIn = 0, bytesOut = 0 }: TrafficNumbers): number {
  return bytesIn + bytesOut
}
