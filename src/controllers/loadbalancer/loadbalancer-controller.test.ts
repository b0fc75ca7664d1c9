import { expect, test } from 'vitest'
import { arrayAt, type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import type { FakeClock } from '../../lib/testing/fake-clock.ts'
import { all, clusterWith } from '../testing/cluster-with.ts'
import type { FakeCluster } from '../testing/fake-cluster.ts'
import { rawService } from '../testing/fixtures.ts'
import { runControllers } from '../testing/run-controllers.ts'
import { createLoadBalancerController } from './loadbalancer-controller.ts'

/** What a test sets of a Service: parts of its spec, the addresses of its status, its day of creation. */
interface ServiceParts {
  readonly spec?: JsonObject
  readonly ingress?: readonly string[]
  readonly createdOn?: string
}

const THREE = ['192.0.2.1-192.0.2.3']
const DUAL = [...THREE, 'fd00::1-fd00::3']

function loadBalanced(
  name: string,
  { spec, ingress = [], createdOn = '01' }: ServiceParts = {},
): JsonObject {
  const metadata = { name, uid: `uid-${name}`, creationTimestamp: `2026-01-${createdOn}T00:00:00Z` }
  return {
    ...rawService({ type: 'LoadBalancer', ...spec }, metadata),
    status: { loadBalancer: { ingress: ingress.map((ip) => ({ ip })) } },
  }
}

interface Scene {
  readonly services: readonly JsonObject[]
  readonly pools?: readonly string[]
}

interface Controlled {
  readonly cluster: FakeCluster
  readonly clock: FakeClock
}

/** A cluster in which the controller has reconciled every Service, and the clock that it uses. */
async function reconciled({ services, pools = THREE }: Scene): Promise<Controlled> {
  const cluster = clusterWith(...all('services', services))
  const clock = await runControllers(cluster, [
    createLoadBalancerController({ ...plainPools(...pools), loadBalancerClass }),
  ])
  return { cluster, clock }
}

/** Name, addresses and reason of the condition of each Service: `web 192.0.2.1 Assigned`. */
function assignments({ cluster }: Controlled): readonly string[] {
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
const requesting = (loadBalancerIP: string, more: JsonObject = {}): ServiceParts => ({
  spec: { loadBalancerIP, ...more },
})

const matrix: readonly (readonly [string, Scene, readonly string[]])[] = [
  [
    'the first free address',
    {
      services: [
        loadBalanced('a', { ingress: ['192.0.2.1'] }),
        loadBalanced('b'),
        loadBalanced('c'),
      ],
    },
    ['a 192.0.2.1 Assigned', 'b 192.0.2.2 Assigned', 'c 192.0.2.3 Assigned'],
  ],
  [
    'no address that another Service has in a form with leading zeros',
    {
      services: [
        loadBalanced('a'),
        loadBalanced('b', {
          spec: { loadBalancerClass: 'x' },
          ingress: ['192.0.2.001'],
          createdOn: '09',
        }),
      ],
    },
    ['a 192.0.2.2 Assigned', 'b 192.0.2.001'],
  ],
  [
    'the address that it requests in a form with leading zeros',
    { services: [loadBalanced('a', requesting('192.0.2.002'))] },
    ['a 192.0.2.2 Assigned'],
  ],
  [
    'the address that it has',
    { services: [loadBalanced('a', { ingress: ['192.0.2.3'] })] },
    ['a 192.0.2.3 Assigned'],
  ],
  [
    'another address for its own that is in no pool',
    { services: [loadBalanced('a', { ingress: ['10.0.0.1'] })] },
    ['a 192.0.2.1 Assigned'],
  ],
  [
    'no address when it is of another class',
    { services: [loadBalanced('a', { spec: { loadBalancerClass: 'x' } })] },
    ['a'],
  ],
  [
    'an address when it is of the class orch.io/address-pool',
    { services: [loadBalanced('a', { spec: { loadBalancerClass: 'orch.io/address-pool' } })] },
    ['a 192.0.2.1 Assigned'],
  ],
  [
    'no address that a Service of another class has',
    {
      services: [
        loadBalanced('a', {
          spec: { loadBalancerClass: 'x' },
          ingress: ['192.0.2.1'],
          createdOn: '09',
        }),
        loadBalanced('b', { ingress: ['192.0.2.1'] }),
      ],
    },
    ['a 192.0.2.1', 'b 192.0.2.2 Assigned'],
  ],
  [
    'no address when it is of type ClusterIP',
    { services: [loadBalanced('a', { spec: { type: 'ClusterIP' } })] },
    ['a'],
  ],
  [
    'the address that it requests',
    { services: [loadBalanced('a', requesting('192.0.2.2'))] },
    ['a 192.0.2.2 Assigned'],
  ],
  [
    'the address that it requests in place of its own',
    { services: [loadBalanced('a', { ...requesting('192.0.2.2'), ingress: ['192.0.2.1'] })] },
    ['a 192.0.2.2 Assigned'],
  ],
  [
    'no address when it requests one that is in no pool',
    { services: [loadBalanced('a', requesting('10.0.0.1'))] },
    ['a AddressNotUsable'],
  ],
  [
    'no address when it requests a text that is no address',
    { services: [loadBalanced('a', requesting('x'))] },
    ['a AddressNotUsable'],
  ],
  [
    'no address when it requests one of another family',
    { services: [loadBalanced('a', requesting('192.0.2.2', V6))], pools: DUAL },
    ['a AddressNotUsable'],
  ],
  [
    'its own address while another Service has the requested one',
    {
      services: [
        loadBalanced('a', { ingress: ['192.0.2.2'], createdOn: '09' }),
        loadBalanced('b', { ...requesting('192.0.2.2'), ingress: ['192.0.2.1'] }),
      ],
    },
    ['a 192.0.2.2 Assigned', 'b 192.0.2.1 AddressInUse'],
  ],
  [
    'an address that another one has too, if it is the older of both',
    {
      services: [
        loadBalanced('a', { ingress: ['192.0.2.2'], createdOn: '02' }),
        loadBalanced('b', { ingress: ['192.0.2.2'] }),
      ],
    },
    ['a 192.0.2.1 Assigned', 'b 192.0.2.2 Assigned'],
  ],
  [
    'an address of both families, in its order of families',
    { services: [loadBalanced('a', { spec: BOTH })], pools: DUAL },
    ['a fd00::1,192.0.2.1 Assigned'],
  ],
  [
    'an address of both families, of which it requested one',
    { services: [loadBalanced('a', requesting('fd00::3', BOTH))], pools: DUAL },
    ['a fd00::3,192.0.2.1 Assigned'],
  ],
  [
    'an address of the only family that has a pool',
    { services: [loadBalanced('a', { spec: BOTH })] },
    ['a 192.0.2.1 Assigned'],
  ],
  [
    'no address when its family has no pool',
    { services: [loadBalanced('a', { spec: V6 })] },
    ['a PoolExhausted'],
  ],
  [
    'an address of one family while the pool of the other is exhausted',
    {
      services: [loadBalanced('a', { spec: BOTH }), loadBalanced('b', { spec: BOTH })],
      pools: ['192.0.2.1', 'fd00::1-fd00::3'],
    },
    ['a fd00::1,192.0.2.1 Assigned', 'b fd00::2 PoolExhausted'],
  ],
  [
    'its own address in canonical text',
    {
      services: [
        loadBalanced('a', { spec: V6, ingress: ['FD00::0:2'] }),
        loadBalanced('b', { spec: V6 }),
      ],
      pools: DUAL,
    },
    ['a fd00::2 Assigned', 'b fd00::1 Assigned'],
  ],
]

test.each(matrix)('a Service gets %s', async (_, scene, wanted) => {
  const running = await reconciled(scene)
  expect(assignments(running)).toEqual(wanted)
  const writes = running.cluster.log.length
  running.cluster.relist()
  await running.clock.advance(60_000)
  expect(running.cluster.log).toHaveLength(writes)
})

test('an exhausted pool is reported in one Event per Service, and the oldest that waits gets a freed address', async () => {
  const names = ['b', 'c', 'a']
  const services = names.map((name, index) => loadBalanced(name, { createdOn: `0${9 - index}` }))
  const held = loadBalanced('held', { ingress: ['192.0.2.1'] })
  const running = await reconciled({ services: [held, ...services], pools: ['192.0.2.1'] })
  const { cluster, clock } = running
  const events = cluster.log.filter((one) => one.startsWith('record'))
  expect(events).toEqual(names.map((name) => `record PoolExhausted shop/${name}`))
  cluster.remove('services', 'shop/held')
  await clock.advance(0)
  expect(assignments(running)).toEqual([
    'b PoolExhausted',
    'c PoolExhausted',
    'a 192.0.2.1 Assigned',
  ])
})

test('the address of a Service that is no longer of type LoadBalancer goes to one that waits', async () => {
  const running = await reconciled({
    services: [loadBalanced('a'), loadBalanced('b')],
    pools: ['192.0.2.1'],
  })
  const { cluster, clock } = running
  const [object] = cluster.all('services')
  const spec = { ...objectAt(object, 'spec'), type: 'NodePort' }
  cluster.put('services', { ...object, spec })
  await clock.advance(0)
  expect(assignments(running)).toEqual(['a NotWanted', 'b 192.0.2.1 Assigned'])
})

test('lastTransitionTime stays when only the reason of the condition changes', async () => {
  const running = await reconciled({ services: [loadBalanced('a', requesting('10.0.0.1'))] })
  const { cluster, clock } = running
  const transitionTime = (): string => {
    const [condition] = arrayAt(cluster.get('services', 'shop/a'), 'status', 'conditions')
    return stringAt(condition, 'lastTransitionTime')
  }
  const before = transitionTime()
  const object = cluster.get('services', 'shop/a')
  await clock.advance(60_000)
  const spec = { ...objectAt(object, 'spec'), loadBalancerIP: '', ipFamilies: ['IPv6'] }
  cluster.put('services', { ...object, spec })
  await clock.advance(0)
  expect(assignments(running)).toEqual(['a PoolExhausted'])
  expect([before, transitionTime()]).toEqual(['2026-01-01T00:00:00Z', before])
})

test('Services that are created together get different addresses, with one write each', async () => {
  const { cluster } = await reconciled({
    services: ['a', 'b', 'c'].map((name) => loadBalanced(name)),
  })
  expect(cluster.log).toEqual(['a', 'b', 'c'].map((name) => `patch services/shop/${name}`))
})

test('a Service with the address of an older Service gets another address', async () => {
  const running = await reconciled({ services: [loadBalanced('young', { createdOn: '09' })] })
  const { cluster, clock } = running
  cluster.put('services', loadBalanced('old', { ingress: ['192.0.2.1'] }))
  await clock.advance(0)
  expect(assignments(running)).toEqual(['young 192.0.2.2 Assigned', 'old 192.0.2.1 Assigned'])
})

test('a problem that changes its message only is written and not reported again', async () => {
  const running = await reconciled({ services: [loadBalanced('a', requesting('10.0.0.1'))] })
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

test('without a pool nothing is written', async () => {
  const services = [loadBalanced('a', { ingress: ['203.0.113.9'] })]
  const { cluster } = await reconciled({ services, pools: [] })
  expect(cluster.log).toEqual([])
})
