import fc from 'fast-check'
import type { ClusterEvent } from '../../../src/cluster/cluster-store.ts'
import { type IpAddress, parseIp } from '../../../src/lib/ip.ts'
import type { Endpoint, Service, ServiceKey } from '../../../src/resources/types.ts'

const ip = (text: string) => parseIp(text) as IpAddress
const KEYS = ['ns/a', 'ns/b', 'ns/c', 'ns/d', 'other/a'] as ServiceKey[]
const SOURCES = KEYS.flatMap((key) => [`${key}-1`, `${key}-2`])
const VIPS = ['172.30.0.1', '172.30.0.2', '172.30.0.17', '5.6.7.8', 'fd00::1', 'fd00::2'].map(ip)
const policy = fc.constantFrom('Cluster' as const, 'Local' as const)

const service = (key: ServiceKey): fc.Arbitrary<Service> =>
  fc.record({
    key: fc.constant(key),
    uid: fc.constant('u'),
    type: fc.constantFrom('ClusterIP', 'NodePort', 'LoadBalancer'),
    clusterIPs: fc.uniqueArray(fc.constantFrom(...VIPS), { minLength: 1, maxLength: 2 }),
    ports: fc.uniqueArray(
      fc.record({
        name: fc.constantFrom('http', 'dns'),
        protocol: fc.constantFrom('TCP', 'UDP'),
        port: fc.constantFrom(53, 80),
        nodePort: fc.constantFrom(0, 30_001, 30_002),
      }),
      { minLength: 1, maxLength: 3, selector: ({ name, protocol }) => name + protocol },
    ),
    externalIPs: fc.uniqueArray(fc.constantFrom(...VIPS), { maxLength: 1 }),
    loadBalancerIPs: fc.uniqueArray(fc.constantFrom(...VIPS), { maxLength: 1 }),
    loadBalancerSourceRanges: fc.constant(undefined),
    externalTrafficPolicy: policy,
    internalTrafficPolicy: policy,
    healthCheckNodePort: fc.constant(0),
    affinitySeconds: fc.constantFrom(undefined, undefined, 60),
    publishNotReadyAddresses: fc.boolean(),
    proxyName: fc.constantFrom(undefined, undefined, undefined, 'other'),
    scheduler: fc.constantFrom(undefined, undefined, 'wlc', 'dh', 'missing'),
    proxyProtocol: fc.constantFrom(undefined, undefined, 'v1', 'v2'),
  })

const endpoint: fc.Arbitrary<Endpoint> = fc.record({
  ip: fc.constantFrom(...['10.0.0.1', '10.0.0.2', '10.0.0.3', 'fd00:10::1'].map(ip)),
  nodeName: fc.constantFrom('here', 'there'),
  ready: fc.boolean(),
  serving: fc.boolean(),
  terminating: fc.boolean(),
  zoneHints: fc.constantFrom(undefined, ['zone-a']),
  nodeHints: fc.constant(undefined),
  weight: fc.constantFrom(1, 1, 1, 0, 3),
})

const serviceEvent: fc.Arbitrary<ClusterEvent> = fc
  .constantFrom(...KEYS)
  .chain((key) =>
    fc
      .option(service(key), { nil: undefined, freq: 4 })
      .map((value) => ({ kind: 'service', key, value })),
  )

const endpointsEvent: fc.Arbitrary<ClusterEvent> = fc.constantFrom(...SOURCES).chain((name) =>
  fc
    .option(fc.tuple(fc.array(endpoint, { maxLength: 3 }), fc.constantFrom(...KEYS)), {
      nil: undefined,
      freq: 4,
    })
    .map((given) => ({ kind: 'endpoints', name, value: given && source(name, ...given) })),
)

function source(name: string, endpoints: readonly Endpoint[], service: ServiceKey) {
  const ports = (['http', 'dns'] as const).flatMap((port) =>
    (['TCP', 'UDP'] as const).map((protocol) => ({ name: port, protocol, port: 8080 })),
  )
  const groups = ([4, 6] as const).map((family) => ({
    family,
    ports,
    endpoints: endpoints.filter((one) => one.ip.includes(':') === (family === 6)),
  }))
  return { name, service, groups, triggeredAt: undefined }
}

/**
 * Additions, changes and removals of Services and their endpoints. There are few names and addresses, so that Services
 * often compete for the same ones.
 */
export const someEvents: fc.Arbitrary<readonly ClusterEvent[]> = fc.array(
  fc.oneof(serviceEvent, endpointsEvent),
  { minLength: 1, maxLength: 4 },
)
