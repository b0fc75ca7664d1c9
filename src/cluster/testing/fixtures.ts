import { type IpAddress, parseIp } from '../../lib/ip.ts'
import type { Endpoint, EndpointSource, Node, Service, ServiceKey } from '../../resources/types.ts'

/** Decoded objects for the tests of `cluster`. Every field has a default, which a test overrides. */

export function key(text: string): ServiceKey {
  return text as ServiceKey
}

export function ip(text: string): IpAddress {
  const parsed = parseIp(text)
  if (parsed === undefined) throw new TypeError(`not an address: ${text}`)
  return parsed
}

export function service(name: string, overrides: Partial<Service> = {}): Service {
  return {
    key: key(name),
    uid: `uid of ${name}`,
    type: 'ClusterIP',
    clusterIPs: [ip('172.30.0.1')],
    ports: [{ name: 'http', protocol: 'TCP', port: 80, nodePort: 0 }],
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
    nodeName: 'node-1',
    ready: true,
    serving: true,
    terminating: false,
    zoneHints: undefined,
    nodeHints: undefined,
    weight: 1,
    ...overrides,
  }
}

export function source(
  name: string,
  owner: string,
  endpoints: readonly Endpoint[] = [endpoint('10.0.0.1')],
): EndpointSource {
  const ports = [{ name: 'http', protocol: 'TCP', port: 8080 }] as const
  const groups = [{ family: 4, ports, endpoints }] as const
  return { name, service: key(owner), groups, triggeredAt: undefined }
}

export function node(name: string, overrides: Partial<Node> = {}): Node {
  return { name, zone: 'zone-a', addresses: [], podCIDRs: [], leaving: false, ...overrides }
}
