import { describe, expect, test } from 'vitest'
import { cidrContains, type IpAddress } from '../lib/ip.ts'
import type { Service } from '../resources/types.ts'
import { compileService } from './compile.ts'
import { explain, type NodeFacts, type Packet } from './explain.ts'
import { ForwardingTable } from './table.ts'
import {
  cidr,
  clusterOf,
  compileAlone,
  endpoint,
  ip,
  nodeContext,
  service,
  serviceKey,
  servicePort,
  slice,
} from './testing/fixtures.ts'

const FACTS: NodeFacts = {
  originOf: (src) => (src.startsWith('10.') ? 'pod' : src === '192.168.0.2' ? 'node' : 'outside'),
  isOffCluster: (src) => !src.startsWith('10.'),
  servesNodePorts: (dst) => dst === '192.168.0.2',
  refusedRange: () => undefined,
  masqueradeAll: false,
}

const HERE = endpoint('10.0.0.1', { nodeName: 'here' })
const THERE = endpoint('10.0.0.2', { nodeName: 'there' })

function tableOf(overrides: Partial<Service> = {}, endpoints = [HERE, THERE]): ForwardingTable {
  const requested = service({
    type: 'LoadBalancer',
    loadBalancerIPs: [ip('1.2.3.4')],
    ports: [servicePort({ nodePort: 30080 })],
    ...overrides,
  })
  const table = new ForwardingTable(nodeContext())
  const entries = compileService(
    requested.key,
    clusterOf([requested], [slice(endpoints)]),
    nodeContext(),
  )
  table.replace(requested.key, entries, 0)
  return table
}

function packet(src: string, dst: string, port = 80): Packet {
  return { src: ip(src), dst: ip(dst), port, protocol: 'TCP' }
}

describe('delivered', () => {
  test.each([
    ['a pod keeps its address', '10.0.0.9', '172.30.0.41', 80, 'no', 'cluster'],
    ['towards itself it does not', '10.0.0.1', '172.30.0.41', 80, 'toItself', 'cluster'],
    ['the node is masqueraded', '192.168.0.2', '172.30.0.41', 80, 'yes', 'cluster'],
    ['external policy Cluster', '203.0.113.2', '192.168.0.2', 30080, 'yes', 'cluster'],
  ] as const)('%s', (_, src, dst, port, masquerade, pool) => {
    const explanation = explain(tableOf(), packet(src, dst, port), FACTS)
    expect(explanation).toMatchObject({ outcome: 'deliver', masquerade, pool, hint: undefined })
    expect(explanation.backends.length).toBe(2)
  })

  test.each([
    ['outside stays local and visible', '203.0.113.2', 'no', 'local'],
    ['a pod short-circuits', '10.0.0.9', 'no', 'cluster'],
    ['the node short-circuits', '192.168.0.2', 'yes', 'cluster'],
  ] as const)('external policy Local: %s', (_, src, masquerade, pool) => {
    const table = tableOf({ externalTrafficPolicy: 'Local' })
    const explanation = explain(table, packet(src, '1.2.3.4'), FACTS)
    expect(explanation).toMatchObject({ outcome: 'deliver', masquerade, pool })
  })

  test('masqueradeAll masquerades packets of Pods', () => {
    const surroundings = { ...FACTS, masqueradeAll: true }
    const explanation = explain(tableOf(), packet('10.0.0.9', '172.30.0.41'), surroundings)
    expect(explanation.masquerade).toBe('yes')
  })

  test('where nothing says which sources are Pods, a ClusterIP masquerades none', () => {
    const surroundings: NodeFacts = { ...FACTS, isOffCluster: () => false }
    for (const src of ['203.0.113.2', '192.168.0.2']) {
      const explanation = explain(tableOf(), packet(src, '172.30.0.41'), surroundings)
      expect(explanation.masquerade).toBe('no')
    }
  })

  test('text has packet, outcome and reasons in one line', () => {
    const table = tableOf({ affinitySeconds: 60 })
    expect(explain(table, packet('10.0.0.9', '172.30.0.41'), FACTS).text).toBe(
      'TCP 10.0.0.9 to 172.30.0.41:80: deliver to 10.0.0.1:8080 10.0.0.2:8080: ' +
        'clusterIP of shop/cart:http/TCP/4; source: pod; masquerade no (offCluster); affinity 60 s',
    )
  })
})

describe('refused', () => {
  test('no endpoint: reject, with a hint', () => {
    const explanation = explain(tableOf({}, []), packet('10.0.0.9', '172.30.0.41'), FACTS)
    expect(explanation).toMatchObject({ outcome: 'reject', pool: 'cluster', backends: [] })
    expect(explanation.hint).toContain('selector')
  })

  test('no local endpoint: drop', () => {
    const table = tableOf({ externalTrafficPolicy: 'Local' }, [THERE])
    const explanation = explain(table, packet('203.0.113.2', '1.2.3.4'), FACTS)
    expect(explanation).toMatchObject({ outcome: 'drop', pool: 'local' })
    expect(explanation.hint).toContain('other nodes')
  })

  test('not in the source ranges: drop, before anything else', () => {
    const table = tableOf({ loadBalancerSourceRanges: [cidr('9.0.0.0/8')] }, [])
    const dropped = explain(table, packet('203.0.113.2', '1.2.3.4'), FACTS)
    expect(dropped).toMatchObject({ outcome: 'drop', hint: 'check loadBalancerSourceRanges' })
    expect(dropped.text).toContain('[9.0.0.0/8]')
    const admitted = explain(table, packet('9.1.1.1', '1.2.3.4'), FACTS)
    expect(admitted.outcome).toBe('reject')
  })
})

describe('unhandled', () => {
  test('an address without a frontend', () => {
    const explanation = explain(tableOf(), packet('10.0.0.9', '8.8.8.8'), FACTS)
    expect(explanation).toMatchObject({
      outcome: 'unhandled',
      entry: undefined,
      frontend: undefined,
    })
    expect(explanation.text).toContain('no Service listens on 8.8.8.8:80/TCP')
  })

  test('another port of a ClusterIP', () => {
    const explanation = explain(tableOf(), packet('10.0.0.9', '172.30.0.41', 81), FACTS)
    expect(explanation.reasons).toContain('the address is the ClusterIP of shop/cart')
  })

  test('in a Service range it is refused, by whichever rules know the range', () => {
    const range = cidr('172.30.0.0/16')
    const refusedRange = (dst: IpAddress) => (cidrContains(range, dst) ? range : undefined)
    const to = (dst: string, port: number) =>
      explain(tableOf(), packet('10.0.0.9', dst, port), { ...FACTS, refusedRange })
    const unused = to('172.30.9.9', 80)
    expect(unused).toMatchObject({ outcome: 'reject', entry: undefined, frontend: undefined })
    expect(unused.reasons).toEqual([
      'no Service listens on 172.30.9.9:80/TCP',
      'unused addresses and ports are refused in the Service range 172.30.0.0/16',
    ])
    expect(unused.hint).toMatch(/present address/)
    const otherPort = to('172.30.0.41', 81)
    expect(otherPort.outcome).toBe('reject')
    expect(otherPort.reasons).toContain('the address is the ClusterIP of shop/cart')
    expect(to('8.8.8.8', 80).outcome).toBe('unhandled')
  })

  test('a node port on an address that serves none', () => {
    const explanation = explain(tableOf(), packet('10.0.0.9', '192.168.9.9', 30080), FACTS)
    expect(explanation.outcome).toBe('unhandled')
  })

  test('an address that was refused, with the reason', () => {
    const table = tableOf({ externalIPs: [ip('169.254.1.1')] })
    const explanation = explain(table, packet('10.0.0.9', '169.254.1.1'), FACTS)
    expect(explanation.entry).toBe('shop/cart:http/TCP/4')
    expect(explanation.text).toContain('link-local')
  })

  test('an address that was refused as an endpoint is one that no Service has', () => {
    const table = tableOf({}, [endpoint('169.254.1.1')])
    const explanation = explain(table, packet('10.0.0.9', '169.254.1.1', 8080), FACTS)
    expect(explanation.entry).toBeUndefined()
    expect(explanation.reasons).toEqual(['no Service listens on 169.254.1.1:8080/TCP'])
  })
})

test('an externalIP that is a node address comes before an equal node port', () => {
  const key = serviceKey('shop/zebra')
  const clusterIPs = [ip('172.30.0.9')]
  const ports = [servicePort({ port: 30080 })]
  const table = tableOf()
  table.replace(key, compileAlone({ key, clusterIPs, ports, externalIPs: [ip('192.168.0.2')] }), 0)
  const explanation = explain(table, packet('203.0.113.2', '192.168.0.2', 30080), FACTS)
  expect(explanation).toMatchObject({ entry: 'shop/zebra:http/TCP/4' })
  expect(explanation.frontend?.kind).toBe('externalIP')
})
