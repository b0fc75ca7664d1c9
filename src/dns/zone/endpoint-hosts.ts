import type { IpAddress } from '../../lib/ip.ts'
import type { EndpointPort, EndpointSource, Service } from '../../resources/types.ts'
import { dashedAddress } from './address-names.ts'

/** One address below the name of a headless Service. */
export interface EndpointHost {
  /** The label of its name: the hostname of the endpoint, else its address with dashes. */
  readonly label: string
  /** Whether the endpoint has a hostname; only then its address has this name for PTR. */
  readonly isNamed: boolean
  readonly ip: IpAddress
  readonly ports: readonly EndpointPort[]
}

/**
 * The endpoints that a headless Service has names for: the ready ones, or all of them with
 * `publishNotReadyAddresses`. An address that several sources list with the same name counts once, with the
 * ports of all.
 */
export function endpointHosts(
  service: Service,
  sources: readonly EndpointSource[],
): readonly EndpointHost[] {
  const hosts = new Map<string, EndpointHost>()
  for (const { ports, endpoints } of sources.flatMap(({ groups }) => groups)) {
    for (const { ip, hostname, ready } of endpoints) {
      if (!ready && !service.publishNotReadyAddresses) continue
      const label = hostname ?? dashedAddress(ip)
      const key = `${label} ${ip}`
      const known = hosts.get(key)
      const all = known === undefined ? ports : mergedPorts(known.ports, ports)
      hosts.set(key, { label, isNamed: hostname !== undefined, ip, ports: all })
    }
  }
  return [...hosts.values()]
}

function mergedPorts(
  known: readonly EndpointPort[],
  more: readonly EndpointPort[],
): readonly EndpointPort[] {
  const added = more.filter((one) => !known.some((other) => isSamePort(one, other)))
  return added.length === 0 ? known : [...known, ...added]
}

function isSamePort(one: EndpointPort, other: EndpointPort): boolean {
  return one.name === other.name && one.protocol === other.protocol && one.port === other.port
}
