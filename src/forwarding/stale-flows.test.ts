import { describe, expect, test } from 'vitest'
import type { Protocol, Service } from '../resources/types.ts'
import type { StaleFlows, TableDelta } from './entry.ts'
import { ForwardingTable } from './table.ts'
import { compileAlone, ip, nodeContext, serviceKey, servicePort } from './testing/fixtures.ts'

const key = serviceKey('dns/dns')

class Resolver {
  readonly table = new ForwardingTable(nodeContext())
  readonly protocol: Protocol

  constructor(protocol: Protocol = 'UDP') {
    this.protocol = protocol
  }

  set(addresses: readonly string[], overrides: Partial<Service> = {}): TableDelta {
    const ports = [servicePort({ port: 53, protocol: this.protocol })]
    const entries = compileAlone({ key, ports, ...overrides }, addresses)
    return this.table.replace(overrides.key ?? key, entries, 0)
  }
}

function flows(stale: readonly StaleFlows[]): readonly string[] {
  return stale.map(({ ip: at, port, keep }) => `${at}:${port} keeps [${[...keep].join(' ')}]`)
}

describe.each(['UDP', 'SCTP'] as const)('stale %s flows', (protocol) => {
  test('are those of a frontend that gets its first backend, also of a new Service', () => {
    const resolver = new Resolver(protocol)
    expect(flows(resolver.set(['10.0.0.1']).staleFlows)).toEqual([
      '172.30.0.41:53 keeps [10.0.0.1:8080]',
    ])
  })

  test('are those of a replaced backend', () => {
    const resolver = new Resolver(protocol)
    resolver.set(['10.0.0.1'])
    expect(resolver.set(['10.0.0.2']).staleFlows).toEqual([
      {
        family: 4,
        protocol,
        ip: '172.30.0.41',
        port: 53,
        keep: new Set(['10.0.0.2:8080']),
      },
    ])
  })

  test('are those of removed backends, and all without a backend', () => {
    const resolver = new Resolver(protocol)
    resolver.set(['10.0.0.1', '10.0.0.2'])
    expect(flows(resolver.set(['10.0.0.1']).staleFlows)).toEqual([
      '172.30.0.41:53 keeps [10.0.0.1:8080]',
    ])
    expect(flows(resolver.set([]).staleFlows)).toEqual(['172.30.0.41:53 keeps []'])
    expect(flows(resolver.set(['10.0.0.3']).staleFlows)).toEqual([
      '172.30.0.41:53 keeps [10.0.0.3:8080]',
    ])
  })

  test('are none when backends are only added', () => {
    const resolver = new Resolver(protocol)
    resolver.set(['10.0.0.1'])
    expect(resolver.set(['10.0.0.1', '10.0.0.2']).staleFlows).toEqual([])
  })

  test('are none of a Service that never had backends', () => {
    const resolver = new Resolver(protocol)
    expect(resolver.set([]).staleFlows).toEqual([])
    expect(resolver.set([], { affinitySeconds: 5 }).staleFlows).toEqual([])
  })

  test('are all flows of a removed Service', () => {
    const resolver = new Resolver(protocol)
    resolver.set(['10.0.0.1'], { externalIPs: [ip('5.6.7.8')] })
    expect(flows(resolver.table.replace(key, [], 0).staleFlows)).toEqual([
      '172.30.0.41:53 keeps []',
      '5.6.7.8:53 keeps []',
    ])
  })

  test('are those of one frontend, when only that is added or removed', () => {
    const resolver = new Resolver(protocol)
    resolver.set(['10.0.0.1'])
    const added = resolver.set(['10.0.0.1'], { externalIPs: [ip('5.6.7.8')] })
    expect(flows(added.staleFlows)).toEqual(['5.6.7.8:53 keeps [10.0.0.1:8080]'])
    expect(flows(resolver.set(['10.0.0.1']).staleFlows)).toEqual(['5.6.7.8:53 keeps []'])
  })
})

test('the stale flows of a node port are those on every address of the node', () => {
  const resolver = new Resolver()
  const ports = [servicePort({ port: 53, protocol: 'UDP', nodePort: 30053 })]
  const { staleFlows } = resolver.set(['10.0.0.1'], { type: 'NodePort', ports })
  expect(flows(staleFlows)).toContain('node:30053 keeps [10.0.0.1:8080]')
})

test('a frontend that moves to another Service keeps the flows of its new backends', () => {
  const resolver = new Resolver()
  const externalIPs = [ip('5.6.7.8')]
  resolver.set(['10.0.0.1'], { externalIPs })
  const rival = { key: serviceKey('dns/another'), clusterIPs: [ip('172.30.0.9')], externalIPs }
  expect(flows(resolver.set(['10.0.0.2'], rival).staleFlows)).toEqual([
    '172.30.0.9:53 keeps [10.0.0.2:8080]',
    '5.6.7.8:53 keeps [10.0.0.2:8080]',
  ])
  const back = resolver.table.replace(rival.key, [], 0)
  expect(flows(back.staleFlows).toSorted()).toEqual([
    '172.30.0.9:53 keeps []',
    '5.6.7.8:53 keeps [10.0.0.1:8080]',
  ])
})

test('TCP has stale flows where a backend has left, and where none serves them any more', () => {
  const resolver = new Resolver('TCP')
  expect(resolver.set(['10.0.0.1']).staleFlows).toEqual([])
  expect(resolver.set(['10.0.0.1', '10.0.0.2']).staleFlows).toEqual([])
  expect(flows(resolver.set(['10.0.0.2']).staleFlows)).toEqual([
    '172.30.0.41:53 keeps [10.0.0.2:8080]',
  ])
  expect(flows(resolver.set([]).staleFlows)).toEqual(['172.30.0.41:53 keeps []'])
  expect(resolver.set(['10.0.0.1']).staleFlows).toEqual([])
  expect(flows(resolver.table.replace(key, [], 0).staleFlows)).toEqual(['172.30.0.41:53 keeps []'])
})
