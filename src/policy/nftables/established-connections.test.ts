import { beforeEach, expect, test } from 'vitest'
import type { FlowEnds } from '../../kernel/conntrack/conntrack.ts'
import type { IpAddress } from '../../lib/ip.ts'
import type { PolicyContent } from '../policy-content.ts'
import { SET, tableOf } from './render.ts'
import { CHAIN, EnforcerRig, isolated, NODE, POD, SETTINGS } from './testing/enforcer-rig.ts'

let rig: EnforcerRig

beforeEach(async () => {
  rig = new EnforcerRig()
  await rig.start(isolated('10.1.0.2'))
})

function flow(source: string, destination: string): FlowEnds {
  const ends = { source: source as IpAddress, destination: destination as IpAddress }
  return { ...ends, protocol: 'TCP', port: 80 }
}

test('only changes that withdraw something cut connections, and none of the node', async () => {
  const ofPod = flow('10.1.0.7', POD)
  rig.conntrack.ends = [ofPod, flow(NODE, POD), flow(POD, NODE)]
  rig.model.isNarrower = false
  rig.enforcer.enqueue([isolated('10.1.0.2', '10.1.0.3')])
  await rig.settle()
  expect(rig.conntrack.ends).toContain(ofPod)
  rig.model.isNarrower = true
  rig.enforcer.enqueue([isolated('10.1.0.3')])
  await rig.settle()
  expect(rig.conntrack.ends).toEqual([flow(NODE, POD), flow(POD, NODE)])
  expect(rig.reported).toContain('cut 1')
})

test('with keep nothing is cut; changed to cut, what is not admitted ends', async () => {
  rig.enforcer.configure({ ...SETTINGS, establishedConnections: 'keep' })
  await rig.settle()
  rig.conntrack.ends = [flow('10.1.0.7', POD)]
  rig.enforcer.enqueue([isolated()])
  await rig.settle()
  expect(rig.conntrack.ends).toHaveLength(1)
  rig.enforcer.configure(SETTINGS)
  await rig.settle()
  expect(rig.conntrack.ends).toEqual([])
})

test('connections that could not be cut are cut later', async () => {
  rig.conntrack.ends = [flow('10.1.0.7', POD)]
  rig.conntrack.failure = new Error('no answer')
  rig.enforcer.enqueue([isolated('10.1.0.3')])
  await rig.settle(500)
  expect(rig.reported).toContain('not cut')
  rig.conntrack.failure = undefined
  await rig.settle()
  expect(rig.conntrack.ends).toEqual([])
})

test('what is still to be cut is not forgotten when a change follows that withdraws nothing', async () => {
  rig.conntrack.ends = [flow('10.1.0.7', POD)]
  rig.conntrack.failure = new Error('no answer')
  rig.enforcer.enqueue([isolated('10.1.0.3')])
  await rig.settle(500)
  expect(rig.reported).toContain('not cut')
  rig.conntrack.failure = undefined
  rig.model.isNarrower = false
  rig.enforcer.enqueue([isolated('10.1.0.3', '10.1.0.4')])
  await rig.settle()
  expect(rig.conntrack.ends).toEqual([])
})

test.each<[string, () => void]>([
  ['a change of policies', () => rig.enforcer.enqueue([isolated('10.1.0.2', '10.1.0.3')])],
  ['another configuration', () => rig.enforcer.configure(SETTINGS)],
])(
  'what began while rules of others were in force is cut, also where the repair comes with %s',
  async (_, also) => {
    rig.model.isNarrower = false
    await rig.settle()
    rig.conntrack.ends = [flow('10.1.0.7', POD)]
    rig.namespace.alter({ do: 'flushSet', table: tableOf(4), set: SET.ingress })
    also()
    await rig.settle()
    expect(rig.reported).not.toContain('drifted')
    expect(rig.conntrack.ends).toEqual([])
  },
)

test('what began while rules of others were in force is cut after the repair', async () => {
  rig.model.isNarrower = false
  await rig.settle()
  rig.conntrack.ends = [flow('10.1.0.7', POD)]
  rig.namespace.alter({ do: 'flushSet', table: tableOf(4), set: SET.ingress })
  await rig.settle()
  expect(rig.reported).toContain('drifted')
  expect(rig.conntrack.ends).toEqual([])
})

test('while rules cannot be written, nothing is cut, and attempts are a second apart', async () => {
  rig.conntrack.ends = [flow('10.1.0.7', POD)]
  rig.nftables.failNext({ kind: 'lost' }, 20)
  rig.enforcer.enqueue([isolated('10.1.0.3')])
  await rig.settle(3_500)
  expect(rig.reported).toEqual(['failed', 'failed', 'failed', 'failed'])
  expect(rig.conntrack.ends).toHaveLength(1)
})

test.each<[string, PolicyContent['pods']]>([
  ['isolated for egress alone', { egress: new Map([[POD, CHAIN]]), ingress: new Map() }],
  ['of an unknown namespace', { egress: new Map(), ingress: new Map([[POD, 'drop']]) }],
])('connections of a Pod that is %s are cut', async (_, pods) => {
  rig.conntrack.ends = [flow(POD, '10.1.0.7'), flow('10.1.0.8', '10.1.0.7')]
  const { podChains, ...rest } = isolated('10.1.0.2')
  const [chain] = podChains.values()
  const ofEgress = new Map([[CHAIN, { ...chain!, direction: 'egress' as const }]])
  rig.enforcer.enqueue([{ ...rest, podChains: ofEgress, pods }])
  await rig.settle()
  expect(rig.conntrack.ends).toEqual([flow('10.1.0.8', '10.1.0.7')])
})

test('however often policies change, tracked connections are read once in a second', async () => {
  let reads = 0
  const cutRefused = rig.conntrack.cutRefused.bind(rig.conntrack)
  rig.conntrack.cutRefused = (...of) => {
    reads++
    return cutRefused(...of)
  }
  for (let change = 0; change < 40; change++) {
    rig.enforcer.enqueue([isolated(`10.1.0.${change}`)])
    await rig.settle(100)
  }
  expect(reads).toBeGreaterThan(1)
  expect(reads).toBeLessThan(6)
})
