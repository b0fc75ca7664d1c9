import { describe, expect, test } from 'vitest'
import type { Endpoint, Service } from '../resources/types.ts'
import { collectCandidates } from './backends.ts'
import { frontendsOf } from './frontends.ts'
import type { NodeContext } from './node-context.ts'
import { poolsOf } from './pools.ts'
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
