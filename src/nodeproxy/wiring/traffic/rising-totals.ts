import type { ServiceKey } from '../../../forwarding/entry.ts'
import type { TrafficNumbers, TrafficReading } from '../../../modes/mode.ts'

/** Numbers that may fall. */
const PRESENT: ReadonlySet<string> = new Set(['connectionsNow'])

interface Service {
  readonly counted: TrafficNumbers
  /** What vanished from the counters since they are read. */
  readonly lost: Readonly<Record<string, number>> | undefined
}

/**
 * Totals that never go back. The sum of a Service falls when one of its counters vanishes with what it counted: a
 * virtual server, an element of a map. Prometheus would take the rest of the sum for new traffic.
 * What arrives between the last reading and the fall is not counted.
 */
export class RisingTotals {
  #services: ReadonlyMap<ServiceKey, Service> = new Map()

  /** The totals of a reading and what vanished before; a Service that is missing in it is forgotten. */
  raise(totals: TrafficReading['totals']): TrafficReading['totals'] {
    const before = this.#services
    const services = new Map(
      [...totals].map(([key, counted]) => [key, follow(before.get(key), counted)] as const),
    )
    this.#services = services
    return new Map([...services].map(([key, service]) => [key, shown(service)]))
  }
}

function follow(before: Service | undefined, counted: TrafficNumbers): Service {
  if (before === undefined) return { counted, lost: undefined }
  const fallen = Object.entries<number | undefined>({ ...before.counted }).flatMap(
    ([name, last = 0]): [string, number][] => {
      const fall = last - (counted[name as keyof TrafficNumbers] ?? 0)
      return fall > 0 && !PRESENT.has(name) ? [[name, fall + (before.lost?.[name] ?? 0)]] : []
    },
  )
  if (fallen.length === 0) return { counted, lost: before.lost }
  return { counted, lost: { ...before.lost, ...Object.fromEntries(fallen) } }
}

function shown({ counted, lost }: Service): TrafficNumbers {
  if (lost === undefined) return counted
  const numbers = Object.entries<number | undefined>({ ...counted })
  return Object.fromEntries(
    numbers.map(([name, count = 0]) => [name, count + (lost[name] ?? 0)] as const),
  )
}
