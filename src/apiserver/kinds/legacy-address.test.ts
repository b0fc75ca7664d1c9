import { describe, expect, test } from 'vitest'
import { decodeEndpointSlice } from '../../resources/endpoint-slice.ts'
import { decodeEndpoints } from '../../resources/endpoints.ts'
import { decodeNode } from '../../resources/node.ts'
import type { Decoded } from '../../resources/problem.ts'
import type { Raw } from '../../resources/reader.ts'
import { decodeService } from '../../resources/service.ts'
import {
  placesOf,
  problemsOf,
  rawEndpoints,
  rawNode,
  rawService,
  rawSlice,
  valueOf,
} from '../../resources/testing/raw-objects.ts'
import { validateObject } from './testing/rules-by-kind.ts'

const RANGES = 'service.beta.kubernetes.io/load-balancer-source-ranges'
const balancer = (spec: Raw) => rawService({ spec: { type: 'LoadBalancer', ...spec } })
const policy = (ipBlock: Raw): Raw => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'p', namespace: 'shop' },
  spec: { podSelector: {}, ingress: [{ from: [{ ipBlock }] }] },
})

/** Objects of old API servers: what a node reads, and what it says of the text. */
const DECODED: readonly (readonly [Decoded<unknown>, object, string])[] = [
  [
    decodeService(rawService({ spec: { clusterIPs: ['010.096.0.10'] } })),
    { clusterIPs: ['10.96.0.10'] },
    'spec.clusterIPs[0] "010.096.0.10"',
  ],
  [
    decodeService(rawService({ spec: { clusterIPs: [], clusterIP: '010.96.0.10' } })),
    { clusterIPs: ['10.96.0.10'] },
    'spec.clusterIP "010.96.0.10"',
  ],
  [
    decodeService(rawService({ spec: { externalIPs: ['203.0.113.007', '203.0.113.7'] } })),
    { externalIPs: ['203.0.113.7'] },
    'spec.externalIPs[0] "203.0.113.007"',
  ],
  [
    decodeService({
      ...balancer({}),
      status: { loadBalancer: { ingress: [{ ip: '2001:db8::00001' }] } },
    }),
    { loadBalancerIPs: ['2001:db8::1'] },
    'status.loadBalancer.ingress[0].ip "2001:db8::00001"',
  ],
  [
    decodeService(balancer({ loadBalancerSourceRanges: ['010.0.0.0/08'] })),
    { loadBalancerSourceRanges: ['10.0.0.0/8'] },
    'spec.loadBalancerSourceRanges[0] "010.0.0.0/08"',
  ],
  [
    decodeService({
      ...balancer({}),
      metadata: { name: 'cart', namespace: 'shop', annotations: { [RANGES]: ' 10.0.0.0/08 ' } },
    }),
    { loadBalancerSourceRanges: ['10.0.0.0/8'] },
    `metadata.annotations[${RANGES}] "10.0.0.0/08"`,
  ],
  [
    decodeEndpoints(rawEndpoints({ subsets: [{ addresses: [{ ip: '010.0.0.1' }], ports: [] }] })),
    { groups: [{ endpoints: [{ ip: '10.0.0.1' }] }] },
    'subsets[0].addresses[0].ip "010.0.0.1"',
  ],
  [
    decodeEndpointSlice(rawSlice({ endpoints: [{ addresses: ['010.0.0.1'] }] })),
    { groups: [{ endpoints: [{ ip: '10.0.0.1' }] }] },
    'endpoints[0].addresses[0] "010.0.0.1"',
  ],
  [
    decodeNode(
      rawNode({ status: { addresses: [{ type: 'InternalIP', address: '192.0.2.010' }] } }),
    ),
    { addresses: ['192.0.2.10'] },
    'status.addresses[0].address "192.0.2.010"',
  ],
  [
    decodeNode(rawNode({ spec: { podCIDRs: ['010.180.0.0/024'] } })),
    { podCIDRs: ['10.180.0.0/24'] },
    'spec.podCIDRs[0] "010.180.0.0/024"',
  ],
  [
    decodeNode(rawNode({ spec: { podCIDR: '010.180.0.0/24', podCIDRs: [] } })),
    { podCIDRs: ['10.180.0.0/24'] },
    'spec.podCIDR "010.180.0.0/24"',
  ],
]

describe('leading zeros are read as decimal, with a warning', () => {
  test.each(DECODED.map(([decoded, value, place]) => [place, decoded, value] as const))(
    '%s',
    (place, decoded, value) => {
      expect(valueOf(decoded)).toMatchObject(value)
      expect(placesOf(problemsOf(decoded))).toEqual([place])
      expect(problemsOf(decoded)[0]?.message).toMatch(
        /^must not have leading zeros: write \S+; its numbers are read as decimal$/,
      )
    },
  )
})

/** Old objects, and the same field with another address of that kind. */
const WRITES: readonly (readonly [string, (text: string) => Raw, string, string])[] = [
  [
    'Service',
    (ip) => rawService({ spec: { clusterIP: ip, clusterIPs: [ip] } }),
    '010.0.0.1',
    '010.0.0.2',
  ],
  [
    'Service',
    (ip) => rawService({ spec: { externalIPs: ['1.2.3.4', ip] } }),
    '010.0.0.1',
    '010.0.0.2',
  ],
  [
    'Service',
    (ip) => ({ ...balancer({}), status: { loadBalancer: { ingress: [{ ip }] } } }),
    '010.0.0.1',
    '010.0.0.2',
  ],
  [
    'Service',
    (net) => balancer({ loadBalancerSourceRanges: [net] }),
    '10.0.0.0/08',
    '10.0.0.0/008',
  ],
  [
    'Service',
    (net) => ({
      ...balancer({}),
      metadata: { name: 'cart', namespace: 'shop', annotations: { [RANGES]: net } },
    }),
    '010.0.0.0/8',
    '011.0.0.0/8',
  ],
  [
    'Endpoints',
    (ip) => rawEndpoints({ subsets: [{ addresses: [{ ip }], ports: [{ port: 80 }] }] }),
    '010.0.0.1',
    '010.0.0.2',
  ],
  [
    'EndpointSlice',
    (ip) => rawSlice({ endpoints: [{ addresses: [ip] }] }),
    '010.0.0.1',
    '010.0.0.2',
  ],
  [
    'EndpointSlice',
    (ip) => rawSlice({ endpoints: [{ addresses: ['10.0.0.9', ip] }] }),
    '010.0.0.1',
    '010.0.0.2',
  ],
  [
    'Node',
    (address) => rawNode({ status: { addresses: [{ type: 'ExternalIP', address }] } }),
    '010.0.0.1',
    '010.0.0.2',
  ],
  ['Node', (net) => rawNode({ spec: { podCIDRs: [net] } }), '010.0.0.0/24', '010.0.1.0/24'],
  [
    'Pod',
    (ip) => ({
      metadata: { name: 'p', namespace: 'shop' },
      spec: { containers: [{ name: 'c', image: 'i' }] },
      status: { podIPs: [{ ip }] },
    }),
    '010.0.0.1',
    '010.0.0.2',
  ],
  ['NetworkPolicy', (cidr) => policy({ cidr }), '010.0.0.0/8', '011.0.0.0/8'],
  [
    'NetworkPolicy',
    (net) => policy({ cidr: '10.0.0.0/8', except: [net] }),
    '10.01.0.0/16',
    '10.02.0.0/16',
  ],
]

describe('a write', () => {
  test.each(WRITES)('of a %s %#: new ones are refused, old ones stay', (kind, raw, old, other) => {
    expect(validateObject(kind, raw(old)).map(({ message }) => message)).toEqual([
      expect.stringMatching(/^must not have leading zeros: write \S+$/),
    ])
    expect(validateObject(kind, raw(old), raw(old))).toEqual([])
    expect(validateObject(kind, raw(other), raw(old))).toHaveLength(1)
  })

  test('of a list in another order, and of one with more of them than problems are kept', () => {
    const ips = Array.from({ length: 120 }, (_, at) => ({ ip: `010.0.0.${at + 1}` }))
    const of = (addresses: readonly object[]) =>
      rawEndpoints({ subsets: [{ addresses, ports: [{ port: 80 }] }] })
    expect(validateObject('Endpoints', of(ips.toReversed()), of(ips))).toEqual([])
    const more = validateObject('Endpoints', of([...ips, { ip: '010.0.1.1' }]), of(ips))
    expect(placesOf(more)).toEqual(['subsets[0].addresses[120].ip "010.0.1.1"'])
  })

  test('that moves an old address to another field is refused', () => {
    const old = rawService({ spec: { externalIPs: ['010.0.0.1'] } })
    const next = { ...balancer({}), status: { loadBalancer: { ingress: [{ ip: '010.0.0.1' }] } } }
    expect(validateObject('Service', next, old)).toHaveLength(1)
  })
})
