import { isDeepEqual } from '../lib/equal.ts'
import type { EndpointSource, Node, Service, ServiceKey } from '../resources/types.ts'
import type { ClusterEvent } from './event.ts'
import { SharedParts } from './shared-parts.ts'

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
  readonly #shared = new SharedParts()

  /** Takes events in order; equal values make nothing dirty. Costs the size of the batch. */
  apply(batch: readonly ClusterEvent[]): Dirty {
    const services = new Set<ServiceKey>()
    let nodes = false
    for (const event of batch) {
      if (event.kind === 'service') {
        if (this.#setService(event.key, event.value)) services.add(event.key)
      } else if (event.kind === 'endpoints') {
        for (const key of this.#setSource(event.name, event.value)) services.add(key)
      } else if (this.#setNode(event.name, event.value)) nodes = true
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
    if (value === undefined) return this.#services.delete(key)
    if (isDeepEqual(this.#services.get(key), value)) return false
    this.#services.set(key, this.#shared.service(value))
    return true
  }

  /** The Services that gained, lost or changed endpoints: at most the old and the new one. */
  #setSource(name: string, value: EndpointSource | undefined): Iterable<ServiceKey> {
    const before = this.#sources.get(name)
    if (isDeepEqual(before, value)) return []
    const after = value && this.#shared.source(value)
    if (after === undefined) this.#sources.delete(name)
    else this.#sources.set(name, after)
    const touched = new Set([before, after].flatMap((source) => source?.service ?? []))
    for (const key of touched) this.#reindex(key, before, after)
    return touched
  }

  #reindex(
    key: ServiceKey,
    before: EndpointSource | undefined,
    after: EndpointSource | undefined,
  ): void {
    const mine = this.endpointsOf(key).filter((source) => source !== before)
    if (after?.service === key) mine.push(after)
    if (mine.length === 0) this.#sourcesOf.delete(key)
    else this.#sourcesOf.set(key, mine.length === 1 ? mine : mine.sort(byName))
  }

  #setNode(name: string, value: Node | undefined): boolean {
    if (value === undefined) return this.#nodes.delete(name)
    if (isDeepEqual(this.#nodes.get(name), value)) return false
    this.#nodes.set(name, value)
    return true
  }
}

function byName(a: EndpointSource, b: EndpointSource): number {
  return a.name < b.name ? -1 : 1
}
