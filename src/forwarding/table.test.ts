import { describe, expect, test } from 'vitest'
import type { Protocol, Service } from '../resources/types.ts'
import { claimKey } from './claims.ts'
import type { EntryId, TableDelta } from './entry.ts'
import { ForwardingTable } from './table.ts'
import { compileAlone, ip, nodeContext, serviceKey, servicePort } from './testing/fixtures.ts'

const key = serviceKey('shop/cart')
const id = 'shop/cart:http/TCP/4' as EntryId

function tableThatDrains(seconds: Partial<Record<Protocol, number>> = {}): ForwardingTable {
  const drainSeconds = { TCP: 0, UDP: 0, SCTP: 0, ...seconds }
  return new ForwardingTable(nodeContext({ drainSeconds }))
}

interface Step {
  readonly now?: number
  readonly service?: Partial<Service>
}

function set(table: ForwardingTable, addresses: readonly string[], step: Step = {}): TableDelta {
  return table.replace(key, compileAlone(step.service ?? {}, addresses), step.now ?? 0)
}

describe('replace', () => {
  test('a new entry is an upsert and can be read', () => {
    const table = tableThatDrains()
    const delta = set(table, ['10.0.0.1'])
    expect(delta).toMatchObject({ upserts: [{ id }], removals: [], staleFlows: [] })
    expect(table.get(id)).toBe(delta.upserts[0])
    expect([...table.entries()]).toEqual(delta.upserts)
    expect(table.size).toBe(1)
    expect(table.statusOf(id)).toBe('Granted')
    const at = { ip: ip('172.30.0.41'), port: 80 }
    expect(table.holder(claimKey({ protocol: 'TCP', family: 4 }, at))?.id).toBe(id)
  })

  test('an equal entry is no upsert and stays the same object', () => {
    const table = tableThatDrains()
    const { upserts } = set(table, ['10.0.0.1'])
    const again = set(table, ['10.0.0.1'])
    expect(again).toEqual({ upserts: [], removals: [], staleFlows: [] })
    expect(table.get(id)).toBe(upserts[0])
  })

  test('of two ports only the changed one is an upsert', () => {
    const table = tableThatDrains()
    const ports = [servicePort(), servicePort({ name: 'admin', port: 81 })]
    set(table, ['10.0.0.1'], { service: { ports } })
    const moved = [servicePort(), servicePort({ name: 'admin', port: 82 })]
    const { upserts } = set(table, ['10.0.0.1'], { service: { ports: moved } })
    expect(upserts.map((entry) => entry.id)).toEqual(['shop/cart:admin/TCP/4'])
  })

  test('a removed port is a removal, also the last one', () => {
    const table = tableThatDrains()
    const ports = [servicePort(), servicePort({ name: 'admin', port: 81 })]
    set(table, ['10.0.0.1'], { service: { ports } })
    expect(set(table, ['10.0.0.1']).removals).toEqual(['shop/cart:admin/TCP/4'])
    expect(table.replace(key, [], 0).removals).toEqual([id])
    expect(table.size).toBe(0)
    expect(table.statusOf(id)).toBeUndefined()
  })

  test.each<[string, Partial<Service>]>([
    ['affinity', { affinitySeconds: 60 }],
    ['scheduler', { scheduler: 'wrr' }],
    ['PROXY protocol', { proxyProtocol: 'v1' }],
    ['policy', { internalTrafficPolicy: 'Local' }],
    ['a frontend', { externalIPs: [ip('5.6.7.8')] }],
    ['source ranges', { type: 'LoadBalancer', loadBalancerIPs: [ip('5.6.7.8')] }],
  ])('a change of %s is an upsert', (_, service) => {
    const table = tableThatDrains()
    set(table, ['10.0.0.1'])
    expect(set(table, ['10.0.0.1'], { service }).upserts.length).toBe(1)
  })

  test('a frontend that the compiler refused changes the status and is no upsert', () => {
    const table = tableThatDrains()
    set(table, ['10.0.0.1'])
    const delta = set(table, ['10.0.0.1'], { service: { externalIPs: [ip('127.0.0.1')] } })
    expect(delta.upserts).toEqual([])
    expect(table.statusOf(id)).toBe('Refused')
    expect(table.problems()).toMatchObject([
      { code: 'NP_FORWARDING_SPECIAL_ADDRESS', entry: id, status: 'Refused', winner: undefined },
    ])
    set(table, ['10.0.0.1'])
    expect(table.problems()).toEqual([])
  })
})

describe('draining', () => {
  const leave = (table: ForwardingTable) => {
    set(table, ['10.0.0.1', '10.0.0.2'])
    return set(table, ['10.0.0.1'], { now: 1_000 })
  }

  test('a backend that leaves keeps its connections until its deadline', () => {
    const table = tableThatDrains({ TCP: 30 })
    expect(leave(table).upserts[0]?.draining).toEqual([
      { ip: '10.0.0.2', port: 8080, weight: 1, local: false, until: 31_000 },
    ])
    expect(table.nextDeadline()).toBe(31_000)
  })

  test('an unrelated change does not move the deadline', () => {
    const table = tableThatDrains({ TCP: 30 })
    leave(table)
    set(table, ['10.0.0.1'], { now: 5_000, service: { affinitySeconds: 60 } })
    expect(table.get(id)?.draining.map(({ until }) => until)).toEqual([31_000])
  })

  test('with 0 seconds no backend drains', () => {
    const table = tableThatDrains({ TCP: 0, UDP: 30 })
    expect(leave(table).upserts[0]?.draining).toEqual([])
    expect(table.nextDeadline()).toBeUndefined()
  })

  test('an endpoint that is back no longer drains', () => {
    const table = tableThatDrains({ TCP: 30 })
    leave(table)
    const { upserts } = set(table, ['10.0.0.1', '10.0.0.2'], { now: 2_000 })
    expect(upserts[0]?.draining).toEqual([])
    expect(table.nextDeadline()).toBeUndefined()
  })

  test('expire removes a draining backend at its deadline and not before', () => {
    const table = tableThatDrains({ TCP: 30 })
    leave(table)
    set(table, [], { now: 2_000 })
    expect(table.expire(30_999).upserts).toEqual([])
    expect(table.expire(31_000).upserts[0]?.draining.map((one) => one.ip)).toEqual(['10.0.0.1'])
    expect(table.nextDeadline()).toBe(32_000)
    expect(table.expire(32_000).upserts[0]?.draining).toEqual([])
    expect(table.expire(99_000).upserts).toEqual([])
    expect(table.nextDeadline()).toBeUndefined()
  })

  test('the earliest of several deadlines comes next', () => {
    const table = tableThatDrains({ TCP: 30 })
    leave(table)
    const other = serviceKey('shop/other')
    const service = { key: other, clusterIPs: [ip('172.30.0.9')] }
    table.replace(other, compileAlone(service), 0)
    table.replace(other, compileAlone(service, []), 500)
    expect(table.nextDeadline()).toBe(30_500)
  })

  test('a removed Service has no draining backends', () => {
    const table = tableThatDrains({ TCP: 30 })
    leave(table)
    table.replace(key, [], 2_000)
    expect(table.nextDeadline()).toBeUndefined()
    expect(set(table, ['10.0.0.1'], { now: 3_000 }).upserts[0]?.draining).toEqual([])
  })

  test('setDrainSeconds applies to backends that are removed afterwards', () => {
    const table = tableThatDrains({ TCP: 30 })
    leave(table)
    table.setDrainSeconds({ TCP: 60, UDP: 0, SCTP: 0 })
    set(table, [], { now: 2_000 })
    expect(table.get(id)?.draining.map(({ until }) => until)).toEqual([62_000, 31_000])
  })
})
