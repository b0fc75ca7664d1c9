import { expect, test } from 'vitest'
import { arrayAt, type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import type { FakeClock } from '../../lib/testing/fake-clock.ts'
import { all, clusterWith } from '../testing/cluster-with.ts'
import type { FakeCluster } from '../testing/fake-cluster.ts'
import { rawService } from '../testing/fixtures.ts'
import { runControllers } from '../testing/run-controllers.ts'
import { parseAddressPool } from './address-pool.ts'
import { createLoadBalancerController } from './loadbalancer-controller.ts'

interface Parts {
  readonly spec?: JsonObject
  readonly ingress?: readonly string[]
  readonly born?: string
}

const THREE = ['192.0.2.1-192.0.2.3']
const DUAL = [...THREE, 'fd00::1-fd00::3']

function balanced(name: string, { spec, ingress = [], born = '01' }: Parts = {}): JsonObject {
  const metadata = { name, uid: `uid-${name}`, creationTimestamp: `2026-01-${born}T00:00:00Z` }
  return {
    ...rawService({ type: 'LoadBalancer', ...spec }, metadata),
    status: { loadBalancer: { ingress: ingress.map((ip) => ({ ip })) } },
  }
}

interface Scene {
  readonly services: readonly JsonObject[]
  readonly pools?: readonly string[]
}

interface Running {
  readonly cluster: FakeCluster
  readonly clock: FakeClock
}

async function settled({ services, pools = THREE }: Scene): Promise<Running> {
  const cluster = clusterWith(...all('services', services))
  const clock = await runControllers(cluster, [
    createLoadBalancerController(pools.map(parseAddressPool)),
  ])
  return { cluster, clock }
}

/** `web 192.0.2.1 Assigned` for each Service. */
function outline({ cluster }: Running): readonly string[] {
  return cluster.all('services').map((service) => {
    const ips = arrayAt(service, 'status', 'loadBalancer', 'ingress').map((one) =>
      stringAt(one, 'ip'),
    )
    const [condition] = arrayAt(service, 'status', 'conditions')
    const name = stringAt(service, 'metadata', 'name')
    return [name, ips.join(), stringAt(condition, 'reason')].filter((one) => one !== '').join(' ')
  })
}

const V6 = { ipFamilies: ['IPv6'] }
const BOTH = { ipFamilies: ['IPv6', 'IPv4'] }
const requesting = (loadBalancerIP: string, more: JsonObject = {}): Parts => ({
  spec: { loadBalancerIP, ...more },
})

const matrix: readonly (readonly [string, Scene, readonly string[]])[] = [
  [
    'the first free address',
    { services: [balanced('a', { ingress: ['192.0.2.1'] }), balanced('b'), balanced('c')] },
    ['a 192.0.2.1 Assigned', 'b 192.0.2.2 Assigned', 'c 192.0.2.3 Assigned'],
  ],
  [
    'another than one that an older Service has with leading zeros',
    {
      services: [
        balanced('a'),
        balanced('b', { spec: { loadBalancerClass: 'x' }, ingress: ['192.0.2.001'], born: '09' }),
      ],
    },
    ['a 192.0.2.2 Assigned', 'b 192.0.2.001'],
  ],
  [
    'what it requests with leading zeros',
    { services: [balanced('a', requesting('192.0.2.002'))] },
    ['a 192.0.2.2 Assigned'],
  ],
  [
    'what it has',
    { services: [balanced('a', { ingress: ['192.0.2.3'] })] },
    ['a 192.0.2.3 Assigned'],
  ],
  [
    'another than one of no pool',
    { services: [balanced('a', { ingress: ['10.0.0.1'] })] },
    ['a 192.0.2.1 Assigned'],
  ],
  [
    'nothing, of another class',
    { services: [balanced('a', { spec: { loadBalancerClass: 'x' } })] },
    ['a'],
  ],
  [
    'an address, of our class',
    { services: [balanced('a', { spec: { loadBalancerClass: 'orch.io/address-pool' } })] },
    ['a 192.0.2.1 Assigned'],
  ],
  [
    'none of another class',
    {
      services: [
        balanced('a', { spec: { loadBalancerClass: 'x' }, ingress: ['192.0.2.1'], born: '09' }),
        balanced('b', { ingress: ['192.0.2.1'] }),
      ],
    },
    ['a 192.0.2.1', 'b 192.0.2.2 Assigned'],
  ],
  ['nothing, as ClusterIP', { services: [balanced('a', { spec: { type: 'ClusterIP' } })] }, ['a']],
  [
    'what it requests',
    { services: [balanced('a', requesting('192.0.2.2'))] },
    ['a 192.0.2.2 Assigned'],
  ],
  [
    'what it requests now',
    { services: [balanced('a', { ...requesting('192.0.2.2'), ingress: ['192.0.2.1'] })] },
    ['a 192.0.2.2 Assigned'],
  ],
  [
    'no other than it requests',
    { services: [balanced('a', requesting('10.0.0.1'))] },
    ['a AddressNotUsable'],
  ],
  [
    'nothing for no address',
    { services: [balanced('a', requesting('x'))] },
    ['a AddressNotUsable'],
  ],
  [
    'nothing for an address of another family',
    { services: [balanced('a', requesting('192.0.2.2', V6))], pools: DUAL },
    ['a AddressNotUsable'],
  ],
  [
    'what it had while what it requests is taken',
    {
      services: [
        balanced('a', { ingress: ['192.0.2.2'], born: '09' }),
        balanced('b', { ...requesting('192.0.2.2'), ingress: ['192.0.2.1'] }),
      ],
    },
    ['a 192.0.2.2 Assigned', 'b 192.0.2.1 AddressInUse'],
  ],
  [
    'of an address given twice: the oldest keeps it',
    {
      services: [
        balanced('a', { ingress: ['192.0.2.2'], born: '02' }),
        balanced('b', { ingress: ['192.0.2.2'] }),
      ],
    },
    ['a 192.0.2.1 Assigned', 'b 192.0.2.2 Assigned'],
  ],
  [
    'both families, in its order',
    { services: [balanced('a', { spec: BOTH })], pools: DUAL },
    ['a fd00::1,192.0.2.1 Assigned'],
  ],
  [
    'both families, one as requested',
    { services: [balanced('a', requesting('fd00::3', BOTH))], pools: DUAL },
    ['a fd00::3,192.0.2.1 Assigned'],
  ],
  [
    'the family that has a pool',
    { services: [balanced('a', { spec: BOTH })] },
    ['a 192.0.2.1 Assigned'],
  ],
  ['nothing of another family', { services: [balanced('a', { spec: V6 })] }, ['a PoolExhausted']],
  [
    'as much as there is',
    {
      services: [balanced('a', { spec: BOTH }), balanced('b', { spec: BOTH })],
      pools: ['192.0.2.1', 'fd00::1-fd00::3'],
    },
    ['a fd00::1,192.0.2.1 Assigned', 'b fd00::2 PoolExhausted'],
  ],
  [
    'the same address in another notation',
    {
      services: [balanced('a', { spec: V6, ingress: ['FD00::0:2'] }), balanced('b', { spec: V6 })],
      pools: DUAL,
    },
    ['a fd00::2 Assigned', 'b fd00::1 Assigned'],
  ],
]

test.each(matrix)('a Service gets %s', async (_, scene, wanted) => {
  const running = await settled(scene)
  expect(outline(running)).toEqual(wanted)
  const writes = running.cluster.log.length
  running.cluster.relist()
  await running.clock.advance(60_000)
  expect(running.cluster.log).toHaveLength(writes)
})

test('an empty pool is one Event, and the Service that waited longest gets a freed address', async () => {
  const names = ['b', 'c', 'a']
  const services = names.map((name, index) => balanced(name, { born: `0${9 - index}` }))
  const held = balanced('held', { ingress: ['192.0.2.1'] })
  const running = await settled({ services: [held, ...services], pools: ['192.0.2.1'] })
  const { cluster, clock } = running
  const events = cluster.log.filter((one) => one.startsWith('record'))
  expect(events).toEqual(names.map((name) => `record PoolExhausted shop/${name}`))
  cluster.remove('services', 'shop/held')
  await clock.advance(0)
  expect(outline(running)).toEqual(['b PoolExhausted', 'c PoolExhausted', 'a 192.0.2.1 Assigned'])
})

test('a Service that is no LoadBalancer any more gives its address back', async () => {
  const running = await settled({ services: [balanced('a'), balanced('b')], pools: ['192.0.2.1'] })
  const { cluster, clock } = running
  const [object] = cluster.all('services')
  const spec = { ...objectAt(object, 'spec'), type: 'NodePort' }
  cluster.put('services', { ...object, spec })
  await clock.advance(0)
  expect(outline(running)).toEqual(['a NotWanted', 'b 192.0.2.1 Assigned'])
})

test('when the condition changes its reason only, its time stays', async () => {
  const running = await settled({ services: [balanced('a', requesting('10.0.0.1'))] })
  const { cluster, clock } = running
  const since = (): string => {
    const [condition] = arrayAt(cluster.get('services', 'shop/a'), 'status', 'conditions')
    return stringAt(condition, 'lastTransitionTime')
  }
  const before = since()
  const object = cluster.get('services', 'shop/a')
  await clock.advance(60_000)
  const spec = { ...objectAt(object, 'spec'), loadBalancerIP: '', ipFamilies: ['IPv6'] }
  cluster.put('services', { ...object, spec })
  await clock.advance(0)
  expect(outline(running)).toEqual(['a PoolExhausted'])
  expect([before, since()]).toEqual(['2026-01-01T00:00:00Z', before])
})

test('Services that come at once are given different addresses at the first attempt', async () => {
  const { cluster } = await settled({ services: ['a', 'b', 'c'].map((name) => balanced(name)) })
  expect(cluster.log).toEqual(['a', 'b', 'c'].map((name) => `patch services/shop/${name}`))
})

test('a Service with the address of an older Service moves to another', async () => {
  const running = await settled({ services: [balanced('young', { born: '09' })] })
  const { cluster, clock } = running
  cluster.put('services', balanced('old', { ingress: ['192.0.2.1'] }))
  await clock.advance(0)
  expect(outline(running)).toEqual(['young 192.0.2.2 Assigned', 'old 192.0.2.1 Assigned'])
})

test('the same problem with another message is no new Event', async () => {
  const running = await settled({ services: [balanced('a', requesting('10.0.0.1'))] })
  const { cluster, clock } = running
  const object = cluster.get('services', 'shop/a')
  const spec = { ...objectAt(object, 'spec'), loadBalancerIP: '10.0.0.2' }
  cluster.put('services', { ...object, spec })
  await clock.advance(0)
  expect(cluster.log).toEqual([
    'patch services/shop/a',
    'record AddressNotUsable shop/a',
    'patch services/shop/a',
  ])
})

test('without a pool the addresses of another provider are left alone', async () => {
  const services = [balanced('a', { ingress: ['203.0.113.9'] })]
  const { cluster } = await settled({ services, pools: [] })
  expect(cluster.log).toEqual([])
})
