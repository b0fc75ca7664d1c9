import type { Endpoint, EndpointGroup, EndpointSource, Service } from '../resources/types.ts'

/** Entries of one table; a full table is emptied, so that names which never return cost a bounded memory. */
const MAX_PARTS = 32_768

/**
 * Interns the parts that many objects have in common: node names, lists of hints, lists of ports. Objects
 * with an equal part then refer to one copy of it. The returned objects equal the given ones.
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
 * Equal for equal lists only. A list of one name, the usual case, needs no JSON: its key begins with a
 * space, that of any other list with a bracket.
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
