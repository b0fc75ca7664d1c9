import { expect, test } from 'vitest'
import { ClusterStore } from '../cluster/cluster-store.ts'
import { ForwardingTable } from '../forwarding/table.ts'
import { ip, nodeContext, service, serviceKey } from '../forwarding/testing/fixtures.ts'
import { NodeModel } from './node-model.ts'
import { endpointsEvent, objectOf, serviceEvents } from './testing/rig.ts'
import { ScriptedMode } from './testing/scripted-mode.ts'

function modelOf() {
  const world = { node: nodeContext() }
  const { program } = new ScriptedMode()
  const table = new ForwardingTable(world.node)
  const nodeContextNow = () => world.node
  const model = new NodeModel({
    store: new ClusterStore(),
    table,
    program,
    nodeContext: nodeContextNow,
  })
  return { model, program, table, world }
}

const removal = { kind: 'service', key: serviceKey('ns/s1'), value: undefined } as const

test('compile compiles each Service with changes once, and apply compiles nothing', () => {
  const { model, program } = modelOf()
  expect(model.apply(serviceEvents('s1'))).toBe(true)
  model.apply(serviceEvents('s2'))
  model.apply([endpointsEvent('s1', '10.0.0.7')])
  expect(program.takeChanges().size).toBe(0)
  expect(model.compile(0)).toEqual(['ns/s1', 'ns/s2'])
  expect([...program.takeChanges().keys()]).toEqual([objectOf('s1'), objectOf('s2')])
  expect(model.compile(0)).toEqual([])
})

test('events that change nothing leave no Service to compile', () => {
  const { model } = modelOf()
  model.apply(serviceEvents('s1'))
  model.compile(0)
  expect(model.apply(serviceEvents('s1'))).toBe(false)
})

test('apply reports Services that wait for compile also when its events add none', () => {
  const { model } = modelOf()
  model.apply(serviceEvents('s1'))
  expect(model.apply([])).toBe(true)
})

test('the objects of a deleted Service are removed', () => {
  const { model, program, table } = modelOf()
  model.apply(serviceEvents('s1'))
  model.compile(0)
  program.takeChanges()
  model.apply([removal])
  model.compile(1)
  expect([...program.takeChanges()]).toEqual([[objectOf('s1'), undefined]])
  expect(table.size).toBe(0)
})

test('a change of this Node compiles every Service with the new node context', () => {
  const { model, program, world } = modelOf()
  const [known, endpoints] = serviceEvents('s1')
  const external = service({
    key: serviceKey('ns/s1'),
    clusterIPs: [ip('172.30.1.2')],
    externalIPs: [ip('192.0.2.1')],
  })
  model.apply([known!, endpoints!, { kind: 'service', key: external.key, value: external }])
  model.compile(0)
  const before = program.takeChanges().get(objectOf('s1'))
  world.node = nodeContext({ allowedExternalIPs: [] })
  const value = { name: 'here', zone: 'a', addresses: [], podCIDRs: [], leaving: false }
  expect(model.apply([{ kind: 'node', name: 'here', value }])).toBe(true)
  expect(model.compile(1)).toEqual(['ns/s1'])
  const after = program.takeChanges().get(objectOf('s1'))
  expect(after).not.toBe(before)
  expect(after).toBeDefined()
})

test('recompileAll compiles every Service with the new node context and drain times', () => {
  const { model, program, world } = modelOf()
  model.apply(serviceEvents('s1', '10.0.0.1'))
  model.compile(0)
  world.node = nodeContext({ drainSeconds: { TCP: 60, UDP: 0, SCTP: 0 } })
  model.recompileAll()
  expect(model.compile(0)).toEqual(['ns/s1'])
  model.apply([endpointsEvent('s1', '10.0.0.2')])
  model.compile(1_000)
  program.takeChanges()
  expect(model.nextDeadline()).toBe(61_000)
  model.compile(60_999)
  expect(program.takeChanges().size).toBe(0)
  model.compile(61_000)
  expect([...program.takeChanges().keys()]).toEqual([objectOf('s1')])
  expect(model.nextDeadline()).toBeUndefined()
})

test('stale flows are returned once', () => {
  const { model } = modelOf()
  const udp = service({
    key: serviceKey('ns/s1'),
    ports: [{ name: 'http', protocol: 'UDP', port: 53, nodePort: 0 }],
  })
  model.apply([{ kind: 'service', key: udp.key, value: udp }])
  model.compile(0)
  model.takeStaleFlows()
  model.apply([removal])
  model.compile(1)
  expect(model.takeStaleFlows()).toMatchObject([{ ip: '172.30.0.41', port: 53, keep: new Set() }])
  expect(model.takeStaleFlows()).toEqual([])
})
