import type { Element } from '../../kernel/nftables/objects.ts'
import type { SetContent } from './content.ts'
import { backendData } from './keys/encode.ts'

/** Keys of clients that have to be forgotten, of each of the two maps. */
export interface StaleClients {
  readonly clients: readonly Buffer[]
  /** Of the map of ports; empty where the map of clients has the ports, too. */
  readonly ports: readonly Buffer[]
}

/**
 * The clients of a map (`content`, as wanted) whose backend is none of its backends. `clients` and `ports` are the
 * elements that were read of it and of its map of ports. A client with an address and no port, or the other way
 * round, is stale as well.
 */
export function staleClients(
  { backends = [], ports: hasPorts }: Pick<SetContent, 'backends' | 'ports'>,
  clients: readonly Element[],
  ports: readonly Element[] = [],
): StaleClients {
  const present = new Set(backends.map((backend) => textOf(backendData(backend))))
  const portOf = new Map(ports.map(({ key, data }) => [textOf(key), textOf(data)]))
  const good = new Set<string>()
  for (const { key, data } of clients) {
    const port = hasPorts === undefined ? '' : portOf.get(textOf(key))
    if (port !== undefined && present.has(textOf(data) + port)) good.add(textOf(key))
  }
  const stale = (elements: readonly Element[]) =>
    elements.map(({ key }) => key).filter((key) => !good.has(textOf(key)))
  return { clients: stale(clients), ports: stale(ports) }
}

function textOf(bytes: Element['data']): string {
  return Buffer.isBuffer(bytes) ? bytes.toString('latin1') : ''
}
