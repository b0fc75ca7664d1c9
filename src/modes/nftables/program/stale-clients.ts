import type { Element } from '../../../kernel/nftables/objects.ts'

/** Elements to delete, of each of the two maps. */
export interface StaleClients {
  readonly clients: readonly Element[]
  /** Of the map of ports; empty where the map of clients has the ports, too. */
  readonly ports: readonly Element[]
}

/**
 * The clients that are remembered with none of `backends` (address . port, as the keys of their set). `clients`
 * and, where they have a map of their own, `ports` are what was read of the maps. A client with an address and no
 * port, or the other way round, is stale as well.
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
