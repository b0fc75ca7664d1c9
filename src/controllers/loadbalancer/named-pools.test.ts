import { expect, test } from 'vitest'
import { pool } from './testing/pools.ts'
import {
  assignments,
  change,
  eventsSince,
  expectAssigned,
  loadBalanced,
  messageOf,
  reconciled,
  type Scene,
} from './testing/scene.ts'

const BLUE = pool(['192.0.2.1-192.0.2.2'], { name: 'blue' })
const GREEN = pool(['192.0.2.101-192.0.2.102', 'fd00::101'], { name: 'green' })
const BOTH = { ipFamilies: ['IPv4', 'IPv6'] }
const from = (name: string) => ({ requests: { pool: name } })
const at = (ips: string) => ({ requests: { ips } })

const matrix: readonly (readonly [string, Scene, readonly string[]])[] = [
  [
    'an address of the first pool that has one',
    { services: ['a', 'b', 'c'].map((name) => loadBalanced(name)), pools: [BLUE, GREEN] },
    ['a 192.0.2.1 Assigned', 'b 192.0.2.2 Assigned', 'c 192.0.2.101 Assigned'],
  ],
  [
    'an address of the pool that it chooses',
    { services: [loadBalanced('a', from('green'))], pools: [BLUE, GREEN] },
    ['a 192.0.2.101 Assigned'],
  ],
  [
    'no address when it chooses a pool that is not there',
    { services: [loadBalanced('a', from('red'))], pools: [BLUE, GREEN] },
    ['a False PoolNotFound'],
  ],
  [
    'no address of another pool when the one that it chooses is exhausted',
    {
      services: ['a', 'b', 'c'].map((name) => loadBalanced(name, from('blue'))),
      pools: [BLUE, GREEN],
    },
    ['a 192.0.2.1 Assigned', 'b 192.0.2.2 Assigned', 'c False PoolExhausted'],
  ],
  [
    'an address of each family that it requests',
    {
      services: [loadBalanced('a', { ...at('fd00::101, 192.0.2.2'), spec: BOTH })],
      pools: [BLUE, GREEN],
    },
    ['a 192.0.2.2,fd00::101 Assigned'],
  ],
  [
    'the address of the annotation and not that of the field',
    {
      services: [loadBalanced('a', { ...at('192.0.2.2'), spec: { loadBalancerIP: '192.0.2.1' } })],
      pools: [BLUE],
    },
    ['a 192.0.2.2 Assigned'],
  ],
  [
    'no address when it requests two of one family',
    { services: [loadBalanced('a', at('192.0.2.1,192.0.2.2'))], pools: [BLUE] },
    ['a False AddressNotUsable'],
  ],
  [
    'no address when it requests one of another pool than it chooses',
    {
      services: [loadBalanced('a', { requests: { pool: 'blue', ips: '192.0.2.101' } })],
      pools: [BLUE, GREEN],
    },
    ['a False AddressNotInPool'],
  ],
  [
    'an address of a pool for requests only when it chooses that',
    {
      services: [
        loadBalanced('a'),
        loadBalanced('b', from('blue')),
        loadBalanced('c', at('192.0.2.2')),
      ],
      pools: [{ ...BLUE, autoAssign: false }, GREEN],
    },
    ['a 192.0.2.101 Assigned', 'b 192.0.2.1 Assigned', 'c 192.0.2.2 Assigned'],
  ],
  [
    'no address when the only pool is for requests',
    { services: [loadBalanced('a')], pools: [{ ...BLUE, autoAssign: false }] },
    ['a False NoPool'],
  ],
  [
    'an address of a pool for its namespace',
    {
      services: [loadBalanced('a'), loadBalanced('b', { namespace: 'bank' })],
      pools: [{ ...BLUE, namespaces: ['bank'] }, GREEN],
    },
    ['a 192.0.2.101 Assigned', 'b 192.0.2.1 Assigned'],
  ],
  [
    'an address of a pool for namespaces with these labels',
    {
      services: [loadBalanced('a'), loadBalanced('b', { namespace: 'bank' })],
      pools: [
        { ...BLUE, namespaces: ['other'], namespaceSelector: { matchLabels: { tier: 'gold' } } },
        GREEN,
      ],
      namespaces: { bank: { tier: 'gold' }, shop: { tier: 'iron' } },
    },
    ['a 192.0.2.101 Assigned', 'b 192.0.2.1 Assigned'],
  ],
  [
    'an address of a pool for Services with these labels',
    {
      services: [loadBalanced('a'), loadBalanced('b', { labels: { public: 'yes' } })],
      pools: [{ ...BLUE, serviceSelector: { matchLabels: { public: 'yes' } } }, GREEN],
    },
    ['a 192.0.2.101 Assigned', 'b 192.0.2.1 Assigned'],
  ],
  [
    'no address of a pool for other namespaces, whether it chooses the pool or the address',
    {
      services: [
        loadBalanced('a', from('blue')),
        loadBalanced('b', at('192.0.2.1')),
        loadBalanced('c'),
      ],
      pools: [{ ...BLUE, namespaces: ['bank'] }],
    },
    ['a False PoolNotPermitted', 'b False PoolNotPermitted', 'c False NoPool'],
  ],
  [
    'its own address of a pool that is for other namespaces now',
    {
      services: [loadBalanced('a', { ingress: ['192.0.2.1'] })],
      pools: [{ ...BLUE, namespaces: ['bank'] }, GREEN],
    },
    ['a 192.0.2.1 AddressOutsidePools'],
  ],
  [
    'its own address that is in no pool, also when it chooses a pool or requests that address',
    {
      services: [
        loadBalanced('a', { ...from('green'), ingress: ['192.0.2.9'] }),
        loadBalanced('b', { ...at('192.0.2.8'), ingress: ['192.0.2.8'] }),
      ],
      pools: [GREEN],
    },
    ['a 192.0.2.9 AddressOutsidePools', 'b 192.0.2.8 AddressOutsidePools'],
  ],
  [
    'the address that it requests for one that is in no pool',
    {
      services: [loadBalanced('a', { ...at('192.0.2.102'), ingress: ['192.0.2.9'] })],
      pools: [GREEN],
    },
    ['a 192.0.2.102 Assigned'],
  ],
]

test.each(matrix)('a Service gets %s', async (_, scene, wanted) => {
  await expectAssigned(scene, wanted)
})

test('a Service that chooses another pool moves when that has an address', async () => {
  const holder = loadBalanced('holder', from('tiny'))
  const tiny = pool(['198.51.100.1'], { name: 'tiny', autoAssign: false })
  const running = await reconciled({ services: [holder, loadBalanced('a')], pools: [BLUE, tiny] })
  await change(running, 'a', from('tiny'))
  expect(assignments(running)).toEqual([
    'holder 198.51.100.1 Assigned',
    'a 192.0.2.1 False PoolExhausted',
  ])
  const length = running.cluster.log.length
  running.cluster.remove('services', 'shop/holder')
  await running.clock.advance(0)
  expect(assignments(running)).toEqual(['a 198.51.100.1 Assigned'])
  expect(eventsSince(running, length)).toEqual(['Assigned shop/a'])
})

test('a pool that takes its addresses elsewhere leaves those that are in use where they are', async () => {
  const before = await reconciled({ services: [loadBalanced('a')], pools: [BLUE] })
  const services = before.cluster.all('services')
  const running = await reconciled({ services, pools: [{ ...BLUE, addresses: ['192.0.2.50'] }] })
  expect(assignments(running)).toEqual(['a 192.0.2.1 AddressOutsidePools'])
  expect(eventsSince(running)).toEqual(['AddressOutsidePools shop/a'])
  expect(messageOf(running, 'a')).toBe(
    '192.0.2.1 is in no pool that the Service may use. It stays until the Service requests another one with the annotation service.orch.io/load-balancer-ips.',
  )
})

test('a namespace that gets the labels of a pool brings addresses to its Services', async () => {
  const running = await reconciled({
    services: [loadBalanced('a')],
    pools: [{ ...BLUE, namespaceSelector: { matchLabels: { tier: 'gold' } } }],
    namespaces: { shop: {} },
  })
  expect(assignments(running)).toEqual(['a False NoPool'])
  const metadata = { name: 'shop', uid: 'shop', labels: { tier: 'gold' } }
  running.cluster.put('namespaces', { metadata })
  await running.clock.advance(0)
  expect(assignments(running)).toEqual(['a 192.0.2.1 Assigned'])
})

test.each([
  [
    from('red'),
    'There is no pool "red", which the annotation service.orch.io/load-balancer-pool names; write one of blue, green.',
  ],
  [
    at('x'),
    'service.orch.io/load-balancer-ips has "x", which is no IP address; write an address of a pool, or remove it.',
  ],
  [
    { spec: { loadBalancerIP: '10.0.0.1' } },
    '10.0.0.1 of spec.loadBalancerIP is in no pool; write an address of a pool, or remove it.',
  ],
  [
    at('fd00::101'),
    'fd00::101 of service.orch.io/load-balancer-ips is an IPv6 address, and the Service has IPv4; write one of that family, or change spec.ipFamilies.',
  ],
])('%j is refused with what to do', async (parts, message) => {
  const running = await reconciled({ services: [loadBalanced('a', parts)], pools: [BLUE, GREEN] })
  expect(messageOf(running, 'a')).toBe(message)
})
