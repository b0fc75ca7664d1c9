import {
  type Cidr,
  cidrContains,
  type Family,
  familyOf,
  hostCidr,
  type IpAddress,
} from '../lib/ip.ts'
import { isSpecialAddress } from '../lib/special-address.ts'
import type { Service, ServicePort } from '../resources/types.ts'
import { compareText, type Frontend, type ProblemCode, type RejectedFrontend } from './entry.ts'
import type { NodeContext } from './node-context.ts'

type Path = Pick<Frontend, 'pool' | 'shortCircuit' | 'masquerade'>
type AddressKind = Exclude<Frontend['kind'], 'nodePort'>

/** The path of a packet by traffic policy; docs/semantics.md has the whole table. */
const PATHS = {
  internal: {
    Cluster: { pool: 'cluster', shortCircuit: false, masquerade: 'offCluster' },
    Local: { pool: 'local', shortCircuit: false, masquerade: 'offCluster' },
  },
  external: {
    Cluster: { pool: 'cluster', shortCircuit: false, masquerade: 'always' },
    Local: { pool: 'local', shortCircuit: true, masquerade: 'onNode' },
  },
} as const satisfies Record<'internal' | 'external', Record<string, Path>>

/** The frontends of one port of a Service in one family. */
export interface ServiceFrontends {
  /** Sorted by kind and address. */
  readonly frontends: readonly Frontend[]
  readonly refused: readonly RejectedFrontend[]
}

/** The addresses and ports on which one port of a Service is served in one family, and the rejected ones. */
export function frontendsOf(
  service: Service,
  port: ServicePort,
  family: Family,
  node: NodeContext,
): ServiceFrontends {
  const frontends: Frontend[] = []
  const refused: RejectedFrontend[] = []
  const taken = new Set<IpAddress>()
  for (const [kind, ips] of addressesByPrecedence(service)) {
    for (const ip of ips) {
      if (taken.has(ip)) continue
      const actual = familyOf(ip)
      if (actual !== family) {
        if (isReportedHere(service, actual, family)) refused.push(familyNotServed(kind, ip, port))
        continue
      }
      const rejection = rejectionOf(kind, ip, port, node)
      if (rejection !== undefined) refused.push(rejection)
      else {
        taken.add(ip)
        frontends.push(addressFrontend(kind, ip, port, { service, node }))
      }
    }
  }
  if (hasNodePort(service, port)) {
    const path = PATHS.external[service.externalTrafficPolicy]
    frontends.push({
      kind: 'nodePort',
      ip: 'node',
      port: port.nodePort,
      ...path,
      sourceRanges: undefined,
    })
  }
  if (frontends.length > 1) frontends.sort(compareFrontends)
  return { frontends, refused }
}

/**
 * The addresses of a Service by kind. An address of several kinds becomes one frontend, of the first kind:
 * the ClusterIP comes first, and the load balancer's address before an equal externalIP, because source
 * ranges limit only the former. The status of a Service that is no longer of type LoadBalancer is ignored.
 */
function addressesByPrecedence(
  service: Service,
): readonly (readonly [AddressKind, readonly IpAddress[]])[] {
  const loadBalancerIPs = service.type === 'LoadBalancer' ? service.loadBalancerIPs : []
  return [
    ['clusterIP', service.clusterIPs],
    ['loadBalancerIP', loadBalancerIPs],
    ['externalIP', service.externalIPs],
  ]
}

function hasNodePort(service: Service, port: ServicePort): boolean {
  return port.nodePort !== 0 && (service.type === 'NodePort' || service.type === 'LoadBalancer')
}

function addressFrontend(
  kind: AddressKind,
  ip: IpAddress,
  port: ServicePort,
  { service, node }: { service: Service; node: NodeContext },
): Frontend {
  const path =
    kind === 'clusterIP'
      ? PATHS.internal[service.internalTrafficPolicy]
      : PATHS.external[service.externalTrafficPolicy]
  const sourceRanges = kind === 'loadBalancerIP' ? sourceRangesFor(ip, service, node) : undefined
  return { kind, ip, port: port.port, ...path, sourceRanges }
}

/** Why an address must not be served; undefined if it may be served. */
function rejectionOf(
  kind: AddressKind,
  ip: IpAddress,
  port: ServicePort,
  node: NodeContext,
): RejectedFrontend | undefined {
  if (isSpecialAddress(ip)) {
    const message = `${kind} ${ip} is an unspecified, loopback, link-local, multicast or broadcast address and is never captured; use an address of a network`
    return rejected('NP_FORWARDING_SPECIAL_ADDRESS', message, { kind, ip, port: port.port })
  }
  if (kind === 'externalIP' && !isAllowed(ip, node)) {
    const message = `externalIP ${ip} lies outside allowedExternalIPs; the operator has to allow its network`
    return rejected('NP_FORWARDING_NOT_ALLOWED', message, { kind, ip, port: port.port })
  }
  return undefined
}

function isAllowed(ip: IpAddress, node: NodeContext): boolean {
  return node.allowedExternalIPs?.some((range) => cidrContains(range, ip)) ?? true
}

/** An address of a family without a ClusterIP is reported once: by the entry of the Service's first family. */
function isReportedHere(service: Service, actual: Family, family: Family): boolean {
  const [first] = service.clusterIPs
  if (first === undefined || familyOf(first) !== family) return false
  return !service.clusterIPs.some((ip) => familyOf(ip) === actual)
}

function familyNotServed(kind: AddressKind, ip: IpAddress, port: ServicePort): RejectedFrontend {
  const message = `${kind} ${ip} is IPv${familyOf(ip)}, but the Service has no ClusterIP of that family; add the family to spec.ipFamilies`
  return rejected('NP_FORWARDING_FAMILY_NOT_SERVED', message, { kind, ip, port: port.port })
}

function rejected(
  code: ProblemCode,
  message: string,
  at: Pick<RejectedFrontend, 'kind' | 'ip' | 'port'>,
): RejectedFrontend {
  return { ...at, code, message }
}

function compareFrontends(a: Frontend, b: Frontend): number {
  return compareText(a.kind, b.kind) || compareText(a.ip, b.ip) || a.port - b.port
}

/**
 * The clients that may use one load balancer address: the Service's source ranges of the address's family, sorted. A
 * list without any range of this family admits no client of it; a range of length 0 admits every client.
 *
 * A process on this node that connects to an address bound on the node has that address as its source. If one of the
 * node's own addresses lies in a range, the load balancer address is therefore admitted as a source, too.
 */
export function sourceRangesFor(
  ip: IpAddress,
  service: Service,
  node: NodeContext,
): readonly Cidr[] | undefined {
  if (service.loadBalancerSourceRanges === undefined) return undefined
  const family = familyOf(ip)
  const ranges = service.loadBalancerSourceRanges.filter((range) => familyOf(range) === family)
  if (ranges.some((range) => range.endsWith('/0'))) return undefined
  if (nodeIsInside(ranges, node, family)) ranges.push(hostCidr(ip))
  return [...new Set(ranges)].sort(compareText)
}

function nodeIsInside(ranges: readonly Cidr[], node: NodeContext, family: Family): boolean {
  return node.addresses[family].some((own) => ranges.some((range) => cidrContains(range, own)))
}
