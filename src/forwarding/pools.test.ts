import { describe, expect, test } from 'vitest'
import type { Endpoint, Service } from '../resources/types.ts'
import { collectCandidates } from './backends.ts'
import { frontendsOf } from './frontends.ts'
import type { NodeContext } from './node-context.ts'
import { poolsOf, selectByHints } from './pools.ts'
import {
  endpoint,
  ip,
  LEAVING,
  nodeContext,
  service,
  servicePort,
  slice,
} from './testing/fixtures.ts'

const HERE = { nodeName: 'here' } as const
const DOWN = { ready: false, serving: false } as const
const ALL_LOCAL = { internalTrafficPolicy: 'Local', externalTrafficPolicy: 'Local' } as const

function pools(
  endpoints: readonly Endpoint[],
  overrides: Partial<Service> = {},
  context: Partial<NodeContext> = {},
) {
  const requested = service({ externalIPs: [ip('5.6.7.8')], ...overrides })
  const node = nodeContext(context)
  const { frontends } = frontendsOf(requested, servicePort(), 4, node)
  const { all } = collectCandidates([slice(endpoints)], servicePort(), 4, node.name)
  const filled = poolsOf(all, frontends, requested, node)
  return {
    cluster: filled.pools.cluster.map((backend) => backend.ip),
    local: filled.pools.local.map((backend) => backend.ip),
    whenEmpty: filled.whenEmpty,
  }
}

describe('which pool is filled', () => {
  const endpoints = [endpoint('10.0.0.1', HERE), endpoint('10.0.0.2')]
  const all = ['10.0.0.1', '10.0.0.2']

  test.each<[string, Partial<Service>, readonly string[], readonly string[]]>([
    ['policies Cluster', {}, all, []],
    ['internal Local', { internalTrafficPolicy: 'Local' }, all, ['10.0.0.1']],
    ['external Local', { externalTrafficPolicy: 'Local' }, all, ['10.0.0.1']],
    ['both Local: short-circuits reach all', ALL_LOCAL, all, ['10.0.0.1']],
    [
      'internal Local, nothing external',
      { internalTrafficPolicy: 'Local', externalIPs: [] },
      [],
      ['10.0.0.1'],
    ],
    [
      'external Local, nothing external',
      { externalTrafficPolicy: 'Local', externalIPs: [] },
      all,
      [],
    ],
  ])('%s', (_, overrides, cluster, local) => {
    expect(pools(endpoints, overrides)).toMatchObject({ cluster, local })
  })
})

describe('readiness', () => {
  test('an endpoint that is not ready is in no pool', () => {
    const { cluster } = pools([endpoint('10.0.0.1', DOWN), endpoint('10.0.0.2')])
    expect(cluster).toEqual(['10.0.0.2'])
  })

  test('publishNotReadyAddresses makes every endpoint ready that is not terminating', () => {
    const endpoints = [endpoint('10.0.0.1', DOWN), endpoint('10.0.0.2', LEAVING)]
    expect(pools(endpoints, { publishNotReadyAddresses: true }).cluster).toEqual(['10.0.0.1'])
  })

  test('terminating endpoints are used only while none is ready and they are serving', () => {
    const leaving = endpoint('10.0.0.1', LEAVING)
    const dead = endpoint('10.0.0.2', { ...LEAVING, serving: false })
    const unready = endpoint('10.0.0.3', { ready: false })
    expect(pools([leaving, dead, unready]).cluster).toEqual(['10.0.0.1'])
    expect(pools([leaving, dead, endpoint('10.0.0.4')]).cluster).toEqual(['10.0.0.4'])
  })

  test('the fallback is decided for each set on its own', () => {
    const endpoints = [endpoint('10.0.0.1', { ...HERE, ...LEAVING }), endpoint('10.0.0.2')]
    expect(pools(endpoints, ALL_LOCAL)).toMatchObject({
      cluster: ['10.0.0.2'],
      local: ['10.0.0.1'],
    })
  })
})

describe('when empty', () => {
  const reject = { cluster: 'reject', local: 'reject' }

  test.each<[string, readonly Endpoint[], object]>([
    ['nothing anywhere: reject', [], reject],
    ['only unready elsewhere: reject', [endpoint('10.0.0.1', DOWN)], reject],
    ['ready elsewhere: drop', [endpoint('10.0.0.1')], { cluster: 'reject', local: 'drop' }],
    ['terminating elsewhere: drop', [endpoint('10.0.0.1', LEAVING)], { local: 'drop' }],
    ['local ones: nothing to say', [endpoint('10.0.0.1', HERE)], reject],
  ])('%s', (_, endpoints, whenEmpty) => {
    expect(pools(endpoints, ALL_LOCAL).whenEmpty).toMatchObject(whenEmpty)
  })

  test('endpoints elsewhere count although topology would not choose them', () => {
    const far = endpoint('10.0.0.1', { zoneHints: ['zone-b'] })
    expect(pools([far], ALL_LOCAL, { zone: 'zone-a' }).whenEmpty.local).toBe('drop')
  })

  test('without a frontend of policy Local nothing is dropped', () => {
    expect(pools([endpoint('10.0.0.1')]).whenEmpty).toEqual(reject)
  })
})

test('topology narrows the cluster pool and never the local one', () => {
  const near = endpoint('10.0.0.1', { zoneHints: ['zone-a'] })
  const here = endpoint('10.0.0.2', { ...HERE, zoneHints: ['zone-b'] })
  expect(pools([near, here], ALL_LOCAL, { zone: 'zone-a' })).toMatchObject({
    cluster: ['10.0.0.1'],
    local: ['10.0.0.2'],
  })
})

test('an endpoint that is not ready needs no hint', () => {
  const near = endpoint('10.0.0.1', { zoneHints: ['zone-a'] })
  const far = endpoint('10.0.0.2', { zoneHints: ['zone-b'] })
  const down = endpoint('10.0.0.3', DOWN)
  expect(pools([near, far, down], {}, { zone: 'zone-a' }).cluster).toEqual(['10.0.0.1'])
})

type Hints = readonly [zones: readonly string[] | undefined, nodes?: readonly string[]]

function candidates(hints: readonly Hints[]) {
  return hints.map(([zoneHints, nodeHints], index) => {
    const one: Endpoint = endpoint(`10.0.0.${index}`, { zoneHints, nodeHints })
    return { endpoint: one, backend: { ip: one.ip, port: 80, weight: 1, local: false } }
  })
}

const A: Hints = [['zone-a']]
const B: Hints = [['zone-b']]

test.each<[string, readonly Hints[], string | undefined, readonly number[]]>([
  ['no hints: all', [[undefined], [undefined]], 'zone-a', [0, 1]],
  ['the zone of the node', [A, B, A], 'zone-a', [0, 2]],
  ['one endpoint for several zones', [[['zone-a', 'zone-b']], B], 'zone-b', [0, 1]],
  ['one without a hint: all', [A, B, [undefined]], 'zone-a', [0, 1, 2]],
  ['an empty hint is none: all', [A, [[]]], 'zone-a', [0, 1]],
  ['no endpoint for this zone: all', [A, B], 'zone-c', [0, 1]],
  ['a node without a zone: all', [A, B], undefined, [0, 1]],
  [
    'node hints come first',
    [
      [['zone-a'], ['here']],
      [['zone-a'], ['there']],
    ],
    'zone-a',
    [0],
  ],
  [
    'node hints need no zone',
    [
      [undefined, ['here']],
      [undefined, ['there']],
    ],
    undefined,
    [0],
  ],
  [
    'no endpoint for this node: zone',
    [
      [['zone-a'], ['x']],
      [['zone-b'], ['y']],
    ],
    'zone-a',
    [0],
  ],
  ['one without a node hint: zone', [[['zone-a'], ['here']], B, A], 'zone-a', [0, 2]],
  ['no endpoints', [], 'zone-a', []],
])('%s', (_, hints, zone, expected) => {
  const all = candidates(hints)
  const { chosen } = selectByHints(all, { name: 'here', zone })
  expect(chosen).toEqual(expected.map((index) => all[index]))
})

test.each<[string, readonly Hints[], string | undefined, object]>([
  ['for the node', [[['zone-b'], ['here']]], 'zone-a', { by: 'nodeHints', ignored: undefined }],
  ['for the zone', [A, B], 'zone-a', { by: 'zoneHints', ignored: undefined }],
  ['for other zones', [A, B], 'zone-c', { by: undefined, ignored: 'noneHere' }],
  ['of some alone', [A, [undefined]], 'zone-a', { by: undefined, ignored: 'incomplete' }],
  ['without a zone', [A, B], undefined, { by: undefined, ignored: 'unknownPlace' }],
])('what hints did: %s', (_, hints, zone, expected) => {
  expect(selectByHints(candidates(hints), { name: 'here', zone })).toMatchObject(expected)
})
