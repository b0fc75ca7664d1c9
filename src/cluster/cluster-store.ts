import { isDeepEqual } from '../lib/equal.ts'
import type { Cidr } from '../lib/ip.ts'
import type {
  Endpoint,
  EndpointGroup,
  EndpointSource,
  Node,
  Service,
  ServiceKey,
} from '../resources/types.ts'

/**
 * One change of the cluster, as a watch of the API server reports it: the new value of an object, or undefined when
 * the object was deleted. `key` and the `name` of endpoints are `namespace/name`; the `name` of a node is that of the
 * Node object, the `name` of Service ranges that of a ServiceCIDR object.
 */
export type ClusterEvent =
  | { readonly kind: 'service'; readonly key: ServiceKey; readonly value: Service | undefined }
  | {
      readonly kind: 'endpoints'
      readonly name: string
      readonly value: EndpointSource | undefined
    }
  | { readonly kind: 'node'; readonly name: string; readonly value: Node | undefined }
  | {
      readonly kind: 'serviceCIDR'
      readonly name: string
      readonly value: readonly Cidr[] | undefined
    }

/**
 * The maximum number of entries of one table. A full table is emptied, so that names which never return take limited
 * memory.
 */
const MAX_PARTS = 32_768

/** What a batch of events changed in the store; events that repeat a known value change nothing. */
interface StoreChange {
  /** Services whose object or endpoint sources changed. */
  readonly services: ReadonlySet<ServiceKey>
  /** Whether a Node was added, changed or deleted. */
  readonly nodeChanged: boolean
}

const NO_SOURCES: readonly EndpointSource[] = Object.freeze([])

/**
 * The cluster as this node knows it: the last value of each Service, endpoint source and Node, and the Service ranges. An
 * endpoint source is an EndpointSlice, or a v1 Endpoints object. Because only last values are kept,
 * the state does not depend on how often or in which batches the events arrived.
 */
export class ClusterStore {
  readonly #services = new Map<ServiceKey, Service>()
  readonly #sources = new Map<string, EndpointSource>()
  readonly #sourcesOf = new Map<ServiceKey, readonly EndpointSource[]>()
  readonly #nodes = new Map<string, Node>()
  readonly #serviceCIDRs = new Map<string, readonly Cidr[]>()
  readonly #interned = new InternedParts()

  /** Applies the events in their order. The cost grows with the batch, not with the cluster. */
  apply(batch: readonly ClusterEvent[]): StoreChange {
    const services = new Set<ServiceKey>()
    let nodeChanged = false
    for (const event of batch) {
      if (event.kind === 'service') {
        if (this.#setService(event.key, event.value)) services.add(event.key)
      } else if (event.kind === 'endpoints') {
        for (const key of this.#setEndpointSource(event.name, event.value)) services.add(key)
      } else if (event.kind === 'serviceCIDR') this.#setServiceCIDR(event.name, event.value)
      else if (this.#setNode(event.name, event.value)) nodeChanged = true
    }
    return { services, nodeChanged }
  }

  /** Undefined if the Service does not exist. */
  service(key: ServiceKey): Service | undefined {
    return this.#services.get(key)
  }

  /** Every endpoint source of a Service, sorted by name; they are also kept while the Service does not exist. */
  endpointSourcesOf(key: ServiceKey): readonly EndpointSource[] {
    return this.#sourcesOf.get(key) ?? NO_SOURCES
  }

  /** Undefined if the Node does not exist. */
  node(name: string): Node | undefined {
    return this.#nodes.get(name)
  }

  /** The Service ranges that the API server reports, sorted; empty if it reports none. */
  get serviceCIDRs(): readonly Cidr[] {
    return [...new Set([...this.#serviceCIDRs.values()].flat())].sort()
  }

  /** Keys of all Services, in no particular order. */
  serviceKeys(): Iterable<ServiceKey> {
    return this.#services.keys()
  }

  /** Number of objects in the store. */
  get counts(): { readonly services: number; readonly endpointSources: number } {
    return { services: this.#services.size, endpointSources: this.#sources.size }
  }

  #setService(key: ServiceKey, value: Service | undefined): boolean {
    if (value === undefined) return this.#services.delete(key)
    if (isDeepEqual(this.#services.get(key), value)) return false
    this.#services.set(key, this.#interned.service(value))
    return true
  }

  /** Returns the Services whose endpoints changed: at most two, when a source moves to another Service. */
  #setEndpointSource(name: string, value: EndpointSource | undefined): Iterable<ServiceKey> {
    const before = this.#sources.get(name)
    if (isDeepEqual(before, value)) return []
    const after = value && this.#interned.source(value)
    if (after === undefined) this.#sources.delete(name)
    else this.#sources.set(name, after)
    const touched = new Set([before, after].flatMap((source) => source?.service ?? []))
    for (const key of touched) this.#reindexSources(key, before, after)
    return touched
  }

  #reindexSources(
    key: ServiceKey,
    before: EndpointSource | undefined,
    after: EndpointSource | undefined,
  ): void {
    const sources = this.endpointSourcesOf(key).filter((source) => source !== before)
    if (after?.service === key) sources.push(after)
    if (sources.length === 0) this.#sourcesOf.delete(key)
    else this.#sourcesOf.set(key, sources.sort(byName))
  }

  #setServiceCIDR(name: string, value: readonly Cidr[] | undefined): void {
    if (value === undefined) this.#serviceCIDRs.delete(name)
    else this.#serviceCIDRs.set(name, value)
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

/**
 * Interns the parts that many objects have in common: node names, lists of hints, lists of ports. Objects with an
 * equal part then share one copy of that part. The returned objects equal the given ones.
 */
export class InternedParts {
  readonly #nodeNames = new Map<string, string>()
  readonly #hints = new Map<string, readonly string[]>()
  readonly #ports = new Map<string, readonly unknown[]>()

  service(service: Service): Service {
    return { ...service, ports: this.#portList(service.ports) }
  }

  source(source: EndpointSource): EndpointSource {
    return { ...source, groups: source.groups.map((group) => this.#group(group)) }
  }

  #group({ family, ports, endpoints }: EndpointGroup): EndpointGroup {
    return {
      family,
      ports: this.#portList(ports),
      endpoints: endpoints.map((endpoint) => this.#endpoint(endpoint)),
    }
  }

  #endpoint(endpoint: Endpoint): Endpoint {
    const { nodeName, zoneHints, nodeHints } = endpoint
    return {
      ...endpoint,
      nodeName: intern(this.#nodeNames, nodeName, nodeName),
      zoneHints: zoneHints && intern(this.#hints, hintsKey(zoneHints), zoneHints),
      nodeHints: nodeHints && intern(this.#hints, hintsKey(nodeHints), nodeHints),
    }
  }

  #portList<T>(ports: readonly T[]): readonly T[] {
    return intern(this.#ports, JSON.stringify(ports), ports) as readonly T[]
  }
}

/**
 * Keys are equal only for equal lists. A list of one name, the usual case, needs no JSON: its key begins with a space,
 * that of any other list with a bracket.
 */
function hintsKey(names: readonly string[]): string {
  return names.length === 1 ? ` ${names[0]}` : JSON.stringify(names)
}

function intern<T>(known: Map<string, T>, key: string, part: T): T {
  const first = known.get(key)
  if (first !== undefined) return first
  if (known.size >= MAX_PARTS) known.clear()
  known.set(key, part)
  return part
}
