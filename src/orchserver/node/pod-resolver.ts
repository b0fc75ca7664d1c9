import type { IpAddress } from '../../lib/ip.ts'
import { familyOf } from '../../lib/ip.ts'
import { isSpecialAddress } from '../../lib/special-address.ts'
import type { ClusterResolver } from '../../resources/resolver/pod-dns.ts'
import type { SocketAddress } from '../../settings/network-types.ts'
import type { OrchServerConfiguration } from '../config/configuration.ts'

/** The only port that a resolv.conf can mean. */
const DNS_PORT = 53
const ANY: readonly string[] = ['0.0.0.0', '::']

/** How Pods of this machine, whose addresses are given, resolve names. */
export function podResolver(
  { dns, sandboxNode }: Pick<OrchServerConfiguration, 'dns' | 'sandboxNode'>,
  nodeAddresses: readonly IpAddress[],
): ClusterResolver {
  const { clusterDNS, resolvConf } = sandboxNode
  const own = dns.addresses.flatMap((address) => reachable(address, nodeAddresses))
  const nameservers = clusterDNS.length > 0 ? clusterDNS : own
  return { nameservers, domain: dns.domain, hostFile: resolvConf }
}

/** Where Pods reach a server that listens there: never on the loopback, which is theirs. */
function reachable(
  { ip, port }: SocketAddress,
  nodeAddresses: readonly IpAddress[],
): readonly IpAddress[] {
  if (port !== DNS_PORT) return []
  if (ANY.includes(ip)) return nodeAddresses.filter((own) => familyOf(own) === familyOf(ip))
  return isSpecialAddress(ip) ? [] : [ip]
}
