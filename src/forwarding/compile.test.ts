import { describe, expect, test } from 'vitest'
import type { Service } from '../resources/types.ts'
import { compileService } from './compile.ts'
import { clusterIPsOf, type NodeContext } from './node-context.ts'
import {
  CLUSTER_IP,
  clusterOf,
  endpoint,
  endpointPort,
  ip,
  nodeContext,
  service,
  servicePort,
  slice,
} from './testing/fixtures.ts'

function compile(overrides: Partial<Service> = {}, node: Partial<NodeContext> = {}) {
  const requested = service(overrides)
  const ports = [endpointPort(), endpointPort({ name: 'dns', protocol: 'UDP', port: 5353 })]
  const sources = [
    slice([endpoint('10.0.0.1')], { ports }),
    slice([endpoint('fd00:1::1')], { name: 'shop/cart-2', ports }),
  ]
  return compileService(requested.key, clusterOf([requested], sources), nodeContext(node))
}

const DUAL = { clusterIPs: [CLUSTER_IP, ip('fd00::1')] }

test('every field of an entry of a LoadBalancer Service', () => {
  expect(compile({ affinitySeconds: 60, scheduler: 'wrr' })).toEqual([
    {
      id: 'shop/cart:http/TCP/4',
      service: 'shop/cart',
      portName: 'http',
      protocol: 'TCP',
      family: 4,
      frontends: [
        {
          kind: 'clusterIP',
          ip: '172.30.0.41',
          port: 80,
          pool: 'cluster',
          shortCircuit: false,
          masquerade: 'offCluster',
          sourceRanges: undefined,
        },
      ],
      pools: { cluster: [{ ip: '10.0.0.1', port: 8080, weight: 1, local: false }], local: [] },
      whenEmpty: { cluster: 'reject', local: 'reject' },
      draining: [],
      affinity: { seconds: 60, isShared: true },
      scheduler: 'wrr',
    },
  ])
})

test('the PROXY protocol is on every entry, and absent where no Service requests it', () => {
  const requested = compile({ ...DUAL, proxyProtocol: 'v2' })
  expect(requested.map(({ proxyProtocol }) => proxyProtocol)).toEqual(['v2', 'v2'])
  expect(compile().some((entry) => 'proxyProtocol' in entry)).toBe(false)
})

test('one entry per port and family, in the order of the ports, IPv4 first', () => {
  const ports = [servicePort({ name: 'dns', protocol: 'UDP', port: 53 }), servicePort()]
  expect(compile({ clusterIPs: DUAL.clusterIPs.toReversed(), ports }).map(({ id }) => id)).toEqual([
    'shop/cart:dns/UDP/4',
    'shop/cart:dns/UDP/6',
    'shop/cart:http/TCP/4',
    'shop/cart:http/TCP/6',
  ])
})

test('each family has its own endpoints', () => {
  const backends = compile(DUAL).map(({ pools }) => pools.cluster.map((one) => one.ip))
  expect(backends).toEqual([['10.0.0.1'], ['fd00:1::1']])
})

test('both pools share their backends', () => {
  const requested = service({ internalTrafficPolicy: 'Local', externalIPs: [ip('5.6.7.8')] })
  const sources = [slice([endpoint('10.0.0.1', { nodeName: 'here' })])]
  const [entry] = compileService(requested.key, clusterOf([requested], sources), nodeContext())
  expect(entry?.pools.local.length).toBe(1)
  expect(entry?.pools.local[0]).toBe(entry?.pools.cluster[0])
})

describe('a Service without entries', () => {
  test.each<[string, Partial<Service>]>([
    ['headless', { clusterIPs: [] }],
    ['ExternalName', { type: 'ExternalName' }],
    ['of another proxy', { proxyName: 'other' }],
    ['without ports', { ports: [] }],
  ])('%s', (_, overrides) => {
    expect(compile(overrides)).toEqual([])
  })

  test('is one that was deleted', () => {
    expect(compileService(service().key, clusterOf([]), nodeContext())).toEqual([])
  })

  test('for a proxy with a name is every one without that name', () => {
    expect(compile({ proxyName: 'other' }, { proxyName: 'other' }).length).toBe(1)
    expect(compile({}, { proxyName: 'other' })).toEqual([])
  })

  test('a Service of another proxy still owns its ClusterIPs', () => {
    const key = service().key
    const owned = (one: Partial<Service>) => clusterIPsOf(key, clusterOf([service(one)]))
    expect(owned({ proxyName: 'other' })).toEqual([CLUSTER_IP])
    expect(owned({ type: 'ExternalName' })).toEqual([])
    expect(clusterIPsOf(key, clusterOf([]))).toEqual([])
  })
})

test('the first of two ports with one name is served, the other reported', () => {
  const ports = [servicePort(), servicePort({ port: 81 }), servicePort({ protocol: 'UDP' })]
  const entries = compile({ ports })
  expect(entries.map(({ id }) => id)).toEqual(['shop/cart:http/TCP/4', 'shop/cart:http/UDP/4'])
  expect(entries[0]?.frontends.map(({ port }) => port)).toEqual([80])
  expect(entries[0]?.refused).toMatchObject([{ code: 'NP_FORWARDING_DUPLICATE_PORT', port: 81 }])
  expect(entries[1]?.refused).toBeUndefined()
  const both = compile({ ...DUAL, ports })
  const addresses = both.map(({ refused }) => refused?.map(({ ip: address }) => address))
  expect(addresses).toEqual([[CLUSTER_IP], ['fd00::1'], undefined, undefined])
})
