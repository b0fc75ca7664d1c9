import type { NodeContext } from '../../forwarding/node-context.ts'
import { familyOf, type IpAddress } from '../../lib/ip.ts'
import type { Node } from '../../resources/types.ts'
import type { NodeProxyConfiguration } from '../config/fields/configuration.ts'

/** The name of this node's Node object: hostnameOverride, else the host name, in lower case. */
export function nodeNameOf(config: NodeProxyConfiguration, hostname: string): string {
  return (config.hostnameOverride === '' ? hostname : config.hostnameOverride).trim().toLowerCase()
}

/**
 * Whether load balancers may send traffic here: not while the node is being removed, and not after its object was
 * deleted. Undefined: the Node object has never existed.
 */
export function isEligible(before: Node | undefined, now: Node | undefined): boolean | undefined {
  if (now !== undefined) return !now.leaving
  return before === undefined ? undefined : false
}

/** The compiler need not drain backends, because conntrack, or the mode itself, keeps established connections. */
const NO_DRAINING = { TCP: 0, UDP: 0, SCTP: 0 } as const

/** What the compilation of Services needs of the node, from its object, its interfaces and the configuration. */
export function nodeContext(
  config: NodeProxyConfiguration,
  name: string,
  { node, local }: { readonly node: Node | undefined; readonly local: readonly IpAddress[] },
): NodeContext {
  const addresses = [...new Set([...(node?.addresses ?? []), ...local])]
  return {
    name,
    zone: node?.zone,
    addresses: {
      4: addresses.filter((ip) => familyOf(ip) === 4),
      6: addresses.filter((ip) => familyOf(ip) === 6),
    },
    allowedExternalIPs:
      config.allowedExternalIPs.length > 0 ? config.allowedExternalIPs : undefined,
    proxyName: config.proxyName === '' ? undefined : config.proxyName,
    affinityScope: config.affinityScope,
    drainSeconds: NO_DRAINING,
  }
}
