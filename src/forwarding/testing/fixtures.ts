import { type Cidr, type IpAddress, parseCidr, parseIp } from '../../lib/ip.ts'
import type {
  Endpoint,
  EndpointPort,
  EndpointSource,
  Service,
  ServiceKey,
  ServicePort,
} from '../../resources/types.ts'
import { compileService } from '../compile.ts'
import type { ForwardingEntry } from '../entry.ts'
import type { ClusterView, NodeContext } from '../node-context.ts'

/** Objects for the tests of this module. Everything has a default; a test sets only what it is about. */

export function ip(text: string): IpAddress {
  const parsed = parseIp(text)
  if (parsed === undefined) throw new TypeError(`not an address: ${text}`)
  return parsed
}

export function cidr(text: string): Cidr {
  const parsed = parseCidr(text)
  if (parsed === undefined) throw new TypeError(`not a network: ${text}`)
  return parsed
}

export function serviceKey(text: string): ServiceKey {
  return text as ServiceKey
}

export const CLUSTER_IP = ip('172.30.0.41')

export function servicePort(overrides: Partial<ServicePort> = {}): ServicePort {
  return { name: 'http', protocol: 'TCP', port: 80, nodePort: 0, ...overrides }
}

export function service(overrides: Partial<Service> = {}): Service {
  return {
    key: serviceKey('shop/cart'),
    uid: 'uid',
    type: 'ClusterIP',
    clusterIPs: [CLUSTER_IP],
    ports: [servicePort()],
    externalIPs: [],
    loadBalancerIPs: [],
    loadBalancerSourceRanges: undefined,
    externalTrafficPolicy: 'Cluster',
    internalTrafficPolicy: 'Cluster',
    healthCheckNodePort: 0,
    affinitySeconds: undefined,
    publishNotReadyAddresses: false,
    proxyName: undefined,
    scheduler: undefined,
    proxyProtocol: undefined,
    ...overrides,
  }
}

export function endpoint(address: string, overrides: Partial<Endpoint> = {}): Endpoint {
  return {
    ip: ip(address),
    nodeName: '',
    ready: true,
    serving: true,
    terminating: false,
    zoneHints: undefined,
    nodeHints: undefined,
    weight: 1,
    ...overrides,
  }
}

/** Conditions of a Pod that is going away but still answers. */
export const LEAVING = { ready: false, serving: true, terminating: true } as const

export function endpointPort(overrides: Partial<EndpointPort> = {}): EndpointPort {
  return { name: 'http', protocol: 'TCP', port: 8080, ...overrides }
}

export function slice(
  endpoints: readonly Endpoint[],
  overrides: Partial<EndpointSource> & { readonly ports?: readonly EndpointPort[] } = {},
): EndpointSource {
  const { ports = [endpointPort()], ...rest } = overrides
  const family = endpoints[0]?.ip.includes(':') ? 6 : 4
  return {
    name: 'shop/cart-1',
    service: serviceKey('shop/cart'),
    groups: [{ family, ports, endpoints }],
    triggeredAt: undefined,
    ...rest,
  }
}

export function clusterOf(
  services: readonly Service[],
  sources: readonly EndpointSource[] = [],
): ClusterView {
  const byKey = new Map(services.map((one) => [one.key, one]))
  return {
    service: (key) => byKey.get(key),
    endpointSourcesOf: (key) => sources.filter((source) => source.service === key),
    node: () => undefined,
  }
}

export function nodeContext(overrides: Partial<NodeContext> = {}): NodeContext {
  return {
    name: 'here',
    zone: undefined,
    addresses: { 4: [ip('192.168.0.2')], 6: [ip('2001:db8::1')] },
    allowedExternalIPs: undefined,
    proxyName: undefined,
    affinityScope: 'service',
    drainSeconds: { TCP: 0, UDP: 0, SCTP: 0 },
    ...overrides,
  }
}

/** Compiles one Service as if it were alone in the cluster. */
export function compileAlone(
  overrides: Partial<Service>,
  addresses: readonly string[] = ['10.0.0.1'],
): readonly ForwardingEntry[] {
  const requested = service(overrides)
  const ports = requested.ports.map(({ name, protocol }) => endpointPort({ name, protocol }))
  const source = slice(
    addresses.map((address) => endpoint(address)),
    { service: requested.key, ports },
  )
  return compileService(requested.key, clusterOf([requested], [source]), nodeContext())
}
