import type { Endpoint, EndpointGroup, EndpointSource, Service } from '../resources/types.ts'

/** Beyond so many different parts sharing would cost more than it saves; then it starts anew. */
const MAX_PARTS = 32_768

/**
 * Keeps what many objects have in common once instead of in each: names of nodes,
 * hints, lists of ports. Returns objects equal to those that it was given.
 */
export class SharedParts {
  readonly #texts = new Map<string, string>()
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
      nodeName: share(this.#texts, nodeName, nodeName),
      zoneHints: zoneHints && share(this.#hints, keyOf(zoneHints), zoneHints),
      nodeHints: nodeHints && share(this.#hints, keyOf(nodeHints), nodeHints),
    }
  }

  #portList<T>(ports: readonly T[]): readonly T[] {
    return share(this.#ports, JSON.stringify(ports), ports) as readonly T[]
  }
}

/** Most lists have one name; JSON, which begins with a bracket, distinguishes all others. */
function keyOf(names: readonly string[]): string {
  return names.length === 1 ? ` ${names[0]}` : JSON.stringify(names)
}

function share<T>(known: Map<string, T>, key: string, part: T): T {
  const first = known.get(key)
  if (first !== undefined) return first
  if (known.size >= MAX_PARTS) known.clear()
  known.set(key, part)
  return part
}
