import { describe, expect, test } from 'vitest'
import type { Service } from '../resources/types.ts'
import type { EntryId, TableDelta } from './entry.ts'
import { ForwardingTable } from './table.ts'
import { compileAlone, ip, nodeContext, serviceKey, servicePort } from './testing/fixtures.ts'

/** A table fed with Services that differ in what a test is about. */
class Claimants {
  readonly table = new ForwardingTable(nodeContext())

  request(name: string, overrides: Partial<Service>): TableDelta {
    const key = serviceKey(`ns/${name}`)
    return this.table.replace(key, compileAlone({ key, ...overrides }), 0)
  }

  leave(name: string): TableDelta {
    return this.table.replace(serviceKey(`ns/${name}`), [], 0)
  }

  frontends(name: string): readonly string[] {
    const entry = this.table.get(id(name))
    return entry?.frontends.map((one) => `${one.kind} ${one.ip}:${one.port}`) ?? []
  }
}

function id(name: string): EntryId {
  return `ns/${name}:http/TCP/4` as EntryId
}

const SHARED = { externalIPs: [ip('5.6.7.8')] }
const A = { ...SHARED, clusterIPs: [ip('172.30.0.1')] }
const B = { ...SHARED, clusterIPs: [ip('172.30.0.2')] }
const WITH_SHARED = 'externalIP 5.6.7.8:80'

describe('two Services request one externalIP:port', () => {
  test.each([
    ['a first', ['a', 'b']],
    ['b first', ['b', 'a']],
  ])('%s: the smallest id wins', (_, order) => {
    const claimants = new Claimants()
    for (const name of order) claimants.request(name, name === 'a' ? A : B)
    expect(claimants.frontends('a')).toContain(WITH_SHARED)
    expect(claimants.frontends('b')).toEqual(['clusterIP 172.30.0.2:80'])
    expect(claimants.table.statusOf(id('a'))).toBe('Granted')
    expect(claimants.table.statusOf(id('b'))).toBe('Conflict')
    expect(claimants.table.problems()).toMatchObject([
      {
        code: 'NP_FORWARDING_CONFLICT',
        entry: 'ns/b:http/TCP/4',
        service: 'ns/b',
        status: 'Conflict',
        winner: 'ns/a:http/TCP/4',
        ip: '5.6.7.8',
        port: 80,
      },
    ])
  })

  test('an entry that loses its frontend to a new one is removed', () => {
    const claimants = new Claimants()
    claimants.request('b', B)
    const { upserts } = claimants.request('a', A)
    expect(upserts.map((entry) => entry.id)).toEqual([id('a'), id('b')])
  })

  test('the loser gets it when the winner is deleted', () => {
    const claimants = new Claimants()
    claimants.request('a', A)
    claimants.request('b', B)
    const { upserts, removals } = claimants.leave('a')
    expect(upserts.map((entry) => entry.id)).toEqual([id('b')])
    expect(removals).toEqual([id('a')])
    expect(claimants.frontends('b')).toContain(WITH_SHARED)
    expect(claimants.table.problems()).toEqual([])
  })

  test('the loser gets it when the winner no longer requests it', () => {
    const claimants = new Claimants()
    claimants.request('a', A)
    claimants.request('b', B)
    claimants.request('a', { ...A, externalIPs: [] })
    expect(claimants.frontends('b')).toContain(WITH_SHARED)
  })

  test('a third claim between both ids changes no other entry', () => {
    const claimants = new Claimants()
    claimants.request('a', A)
    claimants.request('c', { ...SHARED, clusterIPs: [ip('172.30.0.3')] })
    const { upserts } = claimants.request('b', B)
    expect(upserts.map((entry) => entry.id)).toEqual([id('b')])
    expect(claimants.table.problems().map(({ winner }) => winner)).toEqual([id('a'), id('a')])
  })

  test('different ports and protocols do not conflict', () => {
    const claimants = new Claimants()
    claimants.request('a', A)
    claimants.request('b', { ...B, ports: [servicePort({ port: 81 })] })
    claimants.request('c', {
      ...SHARED,
      clusterIPs: [ip('172.30.0.3')],
      ports: [servicePort({ protocol: 'UDP' })],
    })
    expect(claimants.table.problems()).toEqual([])
  })
})

test('of two Services with one node port the one with the smaller id gets it', () => {
  const claimants = new Claimants()
  const ports = [servicePort({ nodePort: 30080 })]
  claimants.request('b', { type: 'NodePort', clusterIPs: [ip('172.30.0.2')], ports })
  claimants.request('a', { type: 'NodePort', clusterIPs: [ip('172.30.0.1')], ports })
  expect(claimants.frontends('a')).toContain('nodePort node:30080')
  expect(claimants.frontends('b')).toEqual(['clusterIP 172.30.0.2:80'])
  expect(claimants.table.problems()[0]?.message).toContain('node port 30080 (TCP)')
})

test('a node address as externalIP and an equal node port are both served', () => {
  const claimants = new Claimants()
  const clusterIPs = [ip('172.30.0.2')]
  claimants.request('a', {
    ...A,
    externalIPs: [ip('192.168.0.2')],
    ports: [servicePort({ port: 30080 })],
  })
  claimants.request('b', {
    type: 'NodePort',
    clusterIPs,
    ports: [servicePort({ nodePort: 30080 })],
  })
  expect(claimants.frontends('a')).toContain('externalIP 192.168.0.2:30080')
  expect(claimants.frontends('b')).toContain('nodePort node:30080')
})

test('of two ports of one Service with one number the smaller id gets it', () => {
  const claimants = new Claimants()
  claimants.request('a', { ...A, ports: [servicePort(), servicePort({ name: 'alt' })] })
  expect(claimants.table.get('ns/a:alt/TCP/4' as EntryId)?.frontends.length).toBe(2)
  expect(claimants.table.get(id('a'))).toBeUndefined()
  expect(claimants.table.statusOf(id('a'))).toBe('Conflict')
})

describe('an externalIP or load balancer address that is a ClusterIP', () => {
  const victim = { clusterIPs: [ip('5.6.7.8')], ports: [servicePort({ port: 443 })] }

  test.each([
    ['victim first', ['victim', 'a']],
    ['victim last', ['a', 'victim']],
  ])('%s: refused, whatever the port', (_, order) => {
    const claimants = new Claimants()
    for (const name of order) claimants.request(name, name === 'a' ? A : victim)
    expect(claimants.frontends('a')).toEqual(['clusterIP 172.30.0.1:80'])
    expect(claimants.table.statusOf(id('a'))).toBe('Refused')
    expect(claimants.table.problems()).toMatchObject([
      { code: 'NP_FORWARDING_CLUSTER_IP_OF_OTHER', status: 'Refused', winner: 'ns/victim' },
    ])
  })

  test('is refused for the port of the ClusterIP, also for a smaller id', () => {
    const claimants = new Claimants()
    claimants.request('a', A)
    claimants.request('victim', { clusterIPs: [ip('5.6.7.8')] })
    expect(claimants.frontends('victim')).toEqual(['clusterIP 5.6.7.8:80'])
    expect(claimants.frontends('a')).toEqual(['clusterIP 172.30.0.1:80'])
  })

  test('is refused as a load balancer address, too', () => {
    const claimants = new Claimants()
    const loadBalancerIPs = [ip('5.6.7.8')]
    claimants.request('a', {
      type: 'LoadBalancer',
      clusterIPs: [ip('172.30.0.1')],
      loadBalancerIPs,
    })
    claimants.request('victim', victim)
    expect(claimants.frontends('a')).toEqual(['clusterIP 172.30.0.1:80'])
  })

  test('is granted when the ClusterIP is removed', () => {
    const claimants = new Claimants()
    claimants.request('victim', victim)
    claimants.request('a', A)
    const { upserts } = claimants.leave('victim')
    expect(upserts.map((entry) => entry.id)).toEqual([id('a')])
    expect(claimants.frontends('a')).toContain(WITH_SHARED)
  })

  test('that is refused does not block the next claim', () => {
    const claimants = new Claimants()
    claimants.request('b', { ...B, clusterIPs: [ip('5.6.7.8')], externalIPs: [] })
    claimants.request('a', A)
    expect(claimants.frontends('b')).toEqual(['clusterIP 5.6.7.8:80'])
  })

  test('of a Service that this node does not serve is refused, too', () => {
    const claimants = new Claimants()
    claimants.request('a', A)
    const foreign = serviceKey('ns/foreign')
    const { upserts } = claimants.table.replace(foreign, [], 0, [ip('5.6.7.8')])
    expect(upserts.map((entry) => entry.id)).toEqual([id('a')])
    expect(claimants.table.ownersOf(ip('5.6.7.8'))).toEqual([foreign])
    claimants.table.replace(foreign, [], 0)
    expect(claimants.frontends('a')).toContain(WITH_SHARED)
  })
})

test('two Services with one ClusterIP: each port is granted once', () => {
  const claimants = new Claimants()
  const clusterIPs = [ip('172.30.0.1')]
  claimants.request('b', { clusterIPs, ports: [servicePort()] })
  claimants.request('a', { clusterIPs, ports: [servicePort()] })
  claimants.request('c', { clusterIPs, ports: [servicePort({ port: 81 })] })
  expect(claimants.frontends('a')).toEqual(['clusterIP 172.30.0.1:80'])
  expect(claimants.table.get(id('b'))).toBeUndefined()
  expect(claimants.frontends('c')).toEqual(['clusterIP 172.30.0.1:81'])
})
