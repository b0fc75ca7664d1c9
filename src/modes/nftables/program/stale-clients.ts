import type { Element } from '../../../kernel/nftables/objects.ts'

/** Elements to delete from each of the two maps. */
export interface StaleClients {
  readonly clients: readonly Element[]
  /** Elements of the map of ports; empty if the map of clients contains the ports. */
  readonly ports: readonly Element[]
}

/**
 * The clients that are remembered with a backend that is not in `backends` (address . port, as the keys of their set).
 * `clients` and, if there is a separate map, `ports` are the contents of the maps. A client with an address and no
 * port, or the reverse, is stale as well.
 */
export function staleClients(
  backends: Iterable<Buffer>,
  clients: readonly Element[],
  ports?: readonly Element[],
): StaleClients {
  const present = new Set(Iterator.from(backends).map(textOf))
  const portOf = new Map(ports?.map(({ key, data }) => [textOf(key), textOf(data)]))
  const good = new Set<string>()
  for (const { key, data } of clients) {
    const port = ports === undefined ? '' : portOf.get(textOf(key))
    if (port !== undefined && present.has(textOf(data) + port)) good.add(textOf(key))
  }
  const isStale = ({ key }: Element) => !good.has(textOf(key))
  return { clients: clients.filter(isStale), ports: ports?.filter(isStale) ?? [] }
}

function textOf(bytes: Element['data']): string {
  return Buffer.isBuffer(bytes) ? bytes.toString('latin1') : ''
}
