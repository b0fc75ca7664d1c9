import { isDeepEqual } from '../lib/equal.ts'
import type { EndpointSource, Node, Service, ServiceKey } from '../resources/types.ts'
import type { ClusterEvent } from './event.ts'

/** What a batch of events touched. */
export interface Dirty {
  readonly services: ReadonlySet<ServiceKey>
  /** Whether any node changed in a way that matters. */
  readonly nodes: boolean
}

const NO_SOURCES: readonly EndpointSource[] = Object.freeze([])

/**
 * The cluster as this node knows it: Services, their endpoints, nodes. It holds
 * only the last value of each object, so it does not matter in which order, how
 * often or in how many batches the events came.
 */
export class ClusterStore {
  readonly #services = new Map<ServiceKey, Service>()
  readonly #sources = new Map<string, EndpointSource>()
  readonly #sourcesOf = new Map<ServiceKey, readonly EndpointSource[]>()
  readonly #nodes = new Map<string, Node>()

  /** Takes events in order; equal values make nothing dirty. Costs the size of the batch. */
  apply(batch: readonly ClusterEvent[]): Dirty {
    const services = new Set<ServiceKey>()
    let nodes = false
    for (const event of batch) {
      if (event.kind === 'service') {
        if (this.#setService(event.key, event.value)) services.add(event.key)
      } else if (event.kind === 'endpoints') {
        for (const key of this.#setSource(event.name, event.value)) services.add(key)
      } else if (replace(this.#nodes, event.name, event.value)) nodes = true
    }
    return { services, nodes }
  }

  service(key: ServiceKey): Service | undefined {
    return this.#services.get(key)
  }

  /** Every source of a Service's endpoints, sorted by name. */
  endpointsOf(key: ServiceKey): readonly EndpointSource[] {
    return this.#sourcesOf.get(key) ?? NO_SOURCES
  }

  node(name: string): Node | undefined {
    return this.#nodes.get(name)
  }

  services(): Iterable<ServiceKey> {
    return this.#services.keys()
  }

  get counts(): { readonly services: number; readonly endpointSources: number } {
    return { services: this.#services.size, endpointSources: this.#sources.size }
  }

  #setService(key: ServiceKey, value: Service | undefined): boolean {
    return replace(this.#services, key, value)
  }

  /** The Services that gained, lost or changed endpoints: at most the old and the new one. */
  #setSource(name: string, value: EndpointSource | undefined): readonly ServiceKey[] {
    const before = this.#sources.get(name)
    if (!replace(this.#sources, name, value)) return []
    const touched = [...new Set([before?.service, value?.service])].filter((key) => key !== undefined)
    for (const key of touched) this.#reindex(key, name, value)
    return touched
  }

  #reindex(key: ServiceKey, name: string, value: EndpointSource | undefined): void {
    const others = this.endpointsOf(key).filter((source) => source.name !== name)
    const mine = value?.service === key ? [...others, value] : others
    if (mine.length === 0) this.#sourcesOf.delete(key)
    else this.#sourcesOf.set(key, mine.sort((a, b) => (a.name < b.name ? -1 : 1)))
  }
}

/** Sets or deletes; false when nothing changed. */
function replace<K, V>(map: Map<K, V>, key: K, value: V | undefined): boolean {
  const before = map.get(key)
  if (value === undefined) return map.delete(key)
  if (before !== undefined && isDeepEqual(before, value)) return false
  map.set(key, value)
  return true
}
