import { expect, test } from 'vitest'
import type { JsonObject } from '../../lib/json.ts'
import { readNode } from '../objects/node-object.ts'
import { capacityOf, readCapacity } from './collections.ts'
import { Tally } from './object-cache.ts'

interface NodeParts {
  readonly labels?: JsonObject
  readonly cpu?: string | number
  readonly ready?: string
}

const ZONE = 'topology.kubernetes.io/zone'

function node({ labels = { [ZONE]: 'a' }, cpu = '4', ready = 'True' }: NodeParts) {
  const status = { allocatable: { cpu }, conditions: [{ type: 'Ready', status: ready }] }
  return readNode({ metadata: { name: 'n', labels }, status })
}

test.each<[string, NodeParts, number, number]>([
  ['a ready node', {}, 4000, 0],
  ['thousandths', { cpu: '3920m' }, 3920, 0],
  ['a number', { cpu: 2 }, 2000, 0],
  ['our own label', { labels: { 'topology.orch.io/zone': 'a' } }, 4000, 0],
  ['not ready', { ready: 'False' }, 0, 0],
  ['silent', { ready: 'Unknown' }, 0, 0],
  ['without a zone', { labels: {} }, 0, 1],
  ['without a zone, not ready', { labels: {}, ready: 'False' }, 0, 0],
  ['without processors', { cpu: '0' }, 0, 1],
  ['no quantity', { cpu: 'many' }, 0, 1],
  ['a negative quantity', { cpu: '-4' }, 0, 1],
  ['more than any machine', { cpu: '10001' }, 0, 1],
  ['more than a number holds', { cpu: '1E' }, 0, 1],
  ['control plane', { labels: { 'node-role.kubernetes.io/control-plane': '' } }, 0, 0],
  ['master', { labels: { [ZONE]: 'a', 'node-role.kubernetes.io/master': 'x' } }, 0, 0],
  ['our control plane', { labels: { [ZONE]: 'a', 'node-role.orch.io/control-plane': '' } }, 0, 0],
])('%s', (_, parts, millis, incomplete) => {
  const capacity = readCapacity(new Map(capacityOf(node(parts))))
  expect(capacity).toEqual({ zones: new Map(millis === 0 ? [] : [['a', millis]]), incomplete })
})

test('totals are the sums over the present nodes, and absent without nodes', () => {
  const tally = new Tally(capacityOf)
  const [a, b, odd] = [node({}), node({ cpu: '500m' }), node({ labels: {} })]
  tally.changed(undefined, a)
  tally.changed(undefined, b)
  tally.changed(undefined, odd)
  expect(readCapacity(tally.totals('')!)).toEqual({ zones: new Map([['a', 4500]]), incomplete: 1 })
  tally.changed(a, b)
  tally.changed(odd, undefined)
  expect(readCapacity(tally.totals('')!)).toEqual({ zones: new Map([['a', 1000]]), incomplete: 0 })
  tally.changed(b, undefined)
  tally.changed(b, undefined)
  expect(tally.totals('')).toBeUndefined()
})
