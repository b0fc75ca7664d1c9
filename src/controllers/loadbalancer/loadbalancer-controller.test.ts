import { expect, test } from 'vitest'
import { arrayAt, type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import {
  addressesOf,
  assignments,
  change,
  eventsSince,
  expectAssigned,
  loadBalanced,
  reconciled,
  type Scene,
  type ServiceParts,
  THREE,
} from './testing/scene.ts'

const DUAL = [...THREE, 'fd00::1-fd00::3']
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
    'no other address for its own that is in no pool',
    { services: [loadBalanced('a', { ingress: ['10.0.0.1'] })] },
    ['a 10.0.0.1 AddressOutsidePools'],
  ],
  [
    'no address when it is of another class',
    { services: [loadBalanced('a', { spec: { loadBalancerClass: 'x' } })] },
    ['a'],
  ],
  [
    'an address when it is of the class of the settings, and no other Service does',
    {
      services: [
        loadBalanced('a', { spec: { loadBalancerClass: 'example.com/a' } }),
        loadBalanced('b'),
      ],
      loadBalancerClass: 'example.com/a',
    },
    ['a 192.0.2.1 Assigned', 'b'],
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
    ['a False AddressNotInPool'],
  ],
  [
    'no address when it requests a text that is no address',
    { services: [loadBalanced('a', requesting('x'))] },
    ['a False AddressNotUsable'],
  ],
  [
    'no address when it requests one of another family',
    { services: [loadBalanced('a', requesting('192.0.2.2', V6))], pools: DUAL },
    ['a False FamilyMismatch'],
  ],
  [
    'its own address while another Service has the requested one',
    {
      services: [
        loadBalanced('a', { ingress: ['192.0.2.2'], createdOn: '09' }),
        loadBalanced('b', { ...requesting('192.0.2.2'), ingress: ['192.0.2.1'] }),
      ],
    },
    ['a 192.0.2.2 Assigned', 'b 192.0.2.1 False AddressInUse'],
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
    ['a 192.0.2.1 FamilyNotInPools'],
  ],
  [
    'no address when its family has no pool',
    { services: [loadBalanced('a', { spec: V6 })] },
    ['a False FamilyNotInPools'],
  ],
  [
    'no address of one family when it requires both',
    { services: [loadBalanced('a', { spec: { ...BOTH, ipFamilyPolicy: 'RequireDualStack' } })] },
    ['a False FamilyNotInPools'],
  ],
  [
    'the one that it has of two that it requires, also when it requests another one',
    {
      services: [
        loadBalanced('a', {
          ...requesting('192.0.2.2', { ...BOTH, ipFamilyPolicy: 'RequireDualStack' }),
          ingress: ['192.0.2.1'],
        }),
      ],
    },
    ['a 192.0.2.1 False FamilyNotInPools'],
  ],
  [
    'no pool of a family as the reason, also when the pool of its other family is exhausted',
    {
      services: [
        loadBalanced('a'),
        loadBalanced('b', {
          spec: { ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'RequireDualStack' },
        }),
      ],
      pools: ['192.0.2.1'],
    },
    ['a 192.0.2.1 Assigned', 'b False FamilyNotInPools'],
  ],
  [
    'no address of both families that it requires while the pool of one is exhausted',
    {
      services: [
        loadBalanced('a', { spec: V6 }),
        loadBalanced('b', { spec: { ...BOTH, ipFamilyPolicy: 'RequireDualStack' } }),
      ],
      pools: ['192.0.2.1', 'fd00::1'],
    },
    ['a fd00::1 Assigned', 'b False PoolExhausted'],
  ],
  [
    'an address of one family while the pool of the other is exhausted',
    {
      services: [loadBalanced('a', { spec: BOTH }), loadBalanced('b', { spec: BOTH })],
      pools: ['192.0.2.1', 'fd00::1-fd00::3'],
    },
    ['a fd00::1,192.0.2.1 Assigned', 'b fd00::2 False PoolExhausted'],
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
  await expectAssigned(scene, wanted)
})

test('an exhausted pool is reported in one Event per Service, and the oldest that waits gets a freed address', async () => {
  const names = ['b', 'c', 'a']
  const services = names.map((name, index) => loadBalanced(name, { createdOn: `0${9 - index}` }))
  const held = loadBalanced('held', { ingress: ['192.0.2.1'] })
  const running = await reconciled({ services: [held, ...services], pools: ['192.0.2.1'] })
  const { cluster, clock } = running
  const exhausted = names.map((name) => `PoolExhausted shop/${name}`)
  expect(eventsSince(running)).toEqual(['Assigned shop/held', ...exhausted])
  const length = cluster.log.length
  cluster.remove('services', 'shop/held')
  await clock.advance(0)
  expect(assignments(running)).toEqual([
    'b False PoolExhausted',
    'c False PoolExhausted',
    'a 192.0.2.1 Assigned',
  ])
  expect(eventsSince(running, length)).toEqual(['Assigned shop/a'])
})

test('the address of a Service that is no longer of type LoadBalancer goes to one that waits, and back', async () => {
  const running = await reconciled({
    services: [loadBalanced('a'), loadBalanced('b')],
    pools: ['192.0.2.1'],
  })
  const length = running.cluster.log.length
  await change(running, 'a', { spec: { type: 'NodePort' } })
  expect(assignments(running)).toEqual(['a', 'b 192.0.2.1 Assigned'])
  expect(eventsSince(running, length)).toEqual(['Released shop/a', 'Assigned shop/b'])
  await change(running, 'b', { spec: { type: 'ClusterIP' } })
  await change(running, 'a', { spec: { type: 'LoadBalancer' } })
  expect(assignments(running)).toEqual(['a 192.0.2.1 Assigned', 'b'])
})

test('an address in no pool is released with the type, when it was reported', async () => {
  const running = await reconciled({ services: [loadBalanced('a', { ingress: ['10.0.0.1'] })] })
  await change(running, 'a', { spec: { type: 'ClusterIP' } })
  expect(assignments(running)).toEqual(['a'])
})

test('an address that the server removes with the type is released, too', async () => {
  const running = await reconciled({
    services: [loadBalanced('a'), loadBalanced('b')],
    pools: ['192.0.2.1'],
  })
  const { cluster, clock } = running
  const length = cluster.log.length
  const object = cluster.get('services', 'shop/a')
  const { conditions = [] } = objectAt(object, 'status')
  const spec = { ...objectAt(object, 'spec'), type: 'ClusterIP' }
  cluster.put('services', { ...object, spec, status: { loadBalancer: {}, conditions } })
  await clock.advance(0)
  expect(assignments(running)).toEqual(['a', 'b 192.0.2.1 Assigned'])
  expect(eventsSince(running, length)).toEqual(['Released shop/a', 'Assigned shop/b'])
})

test('an address that nobody of here assigned stays with a Service of another type', async () => {
  const service = loadBalanced('a', { ingress: ['10.0.0.1'], spec: { type: 'ClusterIP' } })
  const running = await reconciled({ services: [service] })
  expect(assignments(running)).toEqual(['a 10.0.0.1'])
})

test('lastTransitionTime stays when only the reason of the condition changes', async () => {
  const running = await reconciled({ services: [loadBalanced('a', requesting('10.0.0.1'))] })
  const { cluster, clock } = running
  const transitionTime = (): string => {
    const [condition] = arrayAt(cluster.get('services', 'shop/a'), 'status', 'conditions')
    return stringAt(condition, 'lastTransitionTime')
  }
  const before = transitionTime()
  await clock.advance(60_000)
  await change(running, 'a', { spec: { loadBalancerIP: '', ipFamilies: ['IPv6'] } })
  expect(assignments(running)).toEqual(['a False FamilyNotInPools'])
  expect([before, transitionTime()]).toEqual(['2026-01-01T00:00:00Z', before])
})

test('Services that are created together get different addresses, with one write and one Event each', async () => {
  const running = await reconciled({ services: ['a', 'b', 'c'].map((name) => loadBalanced(name)) })
  const { cluster } = running
  expect(new Set(cluster.all('services').flatMap(addressesOf)).size).toBe(3)
  expect(cluster.log).toEqual(
    ['a', 'b', 'c'].flatMap((name) => [
      `patch services/shop/${name}`,
      `record Assigned shop/${name}`,
    ]),
  )
})

test('a Service with the address of an older Service gets another address, and an Event that says so', async () => {
  const running = await reconciled({ services: [loadBalanced('young', { createdOn: '09' })] })
  const { cluster, clock } = running
  cluster.put('services', loadBalanced('old', { ingress: ['192.0.2.1'] }))
  await clock.advance(0)
  expect(assignments(running)).toEqual(['young 192.0.2.2 Assigned', 'old 192.0.2.1 Assigned'])
  expect(eventsSince(running).filter((one) => one.endsWith('/young'))).toHaveLength(2)
})

test('a requested address that changes is exchanged with one Event, and the old one is free', async () => {
  const running = await reconciled({
    services: [loadBalanced('a', requesting('192.0.2.1')), loadBalanced('b')],
    pools: ['192.0.2.1-192.0.2.2'],
  })
  const { cluster, clock } = running
  await change(running, 'a', { spec: { loadBalancerIP: '192.0.2.2' } })
  expect(assignments(running)).toEqual(['a 192.0.2.1 False AddressInUse', 'b 192.0.2.2 Assigned'])
  const length = cluster.log.length
  cluster.remove('services', 'shop/b')
  cluster.put('services', loadBalanced('c'))
  await clock.advance(0)
  expect(assignments(running)).toEqual(['a 192.0.2.2 Assigned', 'c 192.0.2.1 Assigned'])
  expect(eventsSince(running, length).filter((one) => one.endsWith('/a'))).toEqual([
    'Assigned shop/a',
  ])
})

test('a problem that changes its message only is written and not reported again', async () => {
  const running = await reconciled({ services: [loadBalanced('a', requesting('10.0.0.1'))] })
  await change(running, 'a', { spec: { loadBalancerIP: '10.0.0.2' } })
  expect(running.cluster.log).toEqual([
    'patch services/shop/a',
    'record AddressNotInPool shop/a',
    'patch services/shop/a',
  ])
})

test('another start writes nothing', async () => {
  const pools = ['192.0.2.1-192.0.2.2']
  const services = ['a', 'b', 'c'].map((name) => loadBalanced(name))
  const before = await reconciled({ services, pools })
  const after = await reconciled({ services: before.cluster.all('services'), pools })
  expect(after.cluster.log).toEqual([])
})

test('without a pool nothing is written', async () => {
  const services = [loadBalanced('a', { ingress: ['203.0.113.9'] })]
  const { cluster } = await reconciled({ services, pools: [] })
  expect(cluster.log).toEqual([])
})
