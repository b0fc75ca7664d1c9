import { expect, test } from 'vitest'
import type { JsonObject } from '../../lib/json.ts'
import {
  assignments,
  change,
  eventsSince,
  loadBalanced,
  messageOf,
  reconciled,
  type ServiceParts,
} from './testing/scene.ts'

const KEY = { 'sharing-key': 'web' }

/** A Service with the sharing key web and one port: `80`, `53/UDP`. */
function sharing(name: string, port: string, { spec, ...parts }: ServiceParts = {}): JsonObject {
  return loadBalanced(name, { requests: KEY, ...parts, spec: { ...ports(port), ...spec } })
}

function ports(text: string): JsonObject {
  const [port, protocol = 'TCP'] = text.split('/')
  return { ports: [{ port: Number(port), protocol }] }
}

const LOCAL = { externalTrafficPolicy: 'Local', selector: { app: 'web' } }

test.each<readonly [string, readonly JsonObject[], readonly string[]]>([
  [
    'different ports',
    [sharing('a', '80'), sharing('b', '443')],
    ['a 192.0.2.1 Shared', 'b 192.0.2.1 Shared'],
  ],
  [
    'one port of different protocols',
    [sharing('a', '53'), sharing('b', '53/UDP')],
    ['a 192.0.2.1 Shared', 'b 192.0.2.1 Shared'],
  ],
  [
    'policy Local and one selector',
    [sharing('a', '80', { spec: LOCAL }), sharing('b', '443', { spec: LOCAL })],
    ['a 192.0.2.1 Shared', 'b 192.0.2.1 Shared'],
  ],
  [
    'different namespaces and policy Cluster',
    [sharing('a', '80'), sharing('b', '443', { namespace: 'bank' })],
    ['a 192.0.2.1 Shared', 'b 192.0.2.1 Shared'],
  ],
  [
    'a requested address that the other one has',
    [sharing('a', '80'), sharing('b', '443', { spec: { loadBalancerIP: '192.0.2.1' } })],
    ['a 192.0.2.1 Shared', 'b 192.0.2.1 Shared'],
  ],
])('Services with one key and %s share an address', async (_, services, wanted) => {
  expect(assignments(await reconciled({ services }))).toEqual(wanted)
})

test.each<readonly [string, readonly JsonObject[], string]>([
  [
    'the same port',
    [sharing('a', '80'), sharing('b', '80')],
    '192.0.2.1 cannot be shared with shop/a: both have the port 80/TCP; change it, or give one of them another service.orch.io/load-balancer-sharing-key.',
  ],
  [
    'policy Local in one',
    [sharing('a', '80'), sharing('b', '443', { spec: LOCAL })],
    '192.0.2.1 cannot be shared with shop/a: externalTrafficPolicy has to be Cluster in both, or Local in both with the same selector in one namespace.',
  ],
  [
    'policy Local and different selectors',
    [
      sharing('a', '80', { spec: LOCAL }),
      sharing('b', '443', { spec: { ...LOCAL, selector: { app: 'db' } } }),
    ],
    '192.0.2.1 cannot be shared with shop/a: externalTrafficPolicy has to be Cluster in both, or Local in both with the same selector in one namespace.',
  ],
  [
    'another key, where the address is requested',
    [
      sharing('a', '80'),
      sharing('b', '443', {
        requests: { 'sharing-key': 'other' },
        spec: { loadBalancerIP: '192.0.2.1' },
      }),
    ],
    '192.0.2.1 cannot be shared with shop/a: to share it, give both the same annotation service.orch.io/load-balancer-sharing-key; otherwise request another address.',
  ],
])('%s is refused, with an Event and what to do', async (_, services, message) => {
  const running = await reconciled({ services })
  expect(assignments(running)).toEqual(['a 192.0.2.1 Assigned', 'b False SharingRefused'])
  expect(eventsSince(running)).toEqual(['Assigned shop/a', 'SharingRefused shop/b'])
  expect(messageOf(running, 'b')).toBe(message)
})

test('Services with policy Local in different namespaces share nothing, whatever their selectors', async () => {
  const services = [
    sharing('a', '80', { spec: LOCAL }),
    sharing('b', '443', { spec: LOCAL, namespace: 'bank' }),
  ]
  expect(assignments(await reconciled({ services }))).toEqual([
    'a 192.0.2.1 Assigned',
    'b False SharingRefused',
  ])
})

test('a refused Service shares as soon as the other one no longer has its port', async () => {
  const running = await reconciled({ services: [sharing('a', '80'), sharing('b', '80')] })
  const length = running.cluster.log.length
  await change(running, 'a', { spec: ports('8080') })
  expect(assignments(running)).toEqual(['a 192.0.2.1 Shared', 'b 192.0.2.1 Shared'])
  expect(eventsSince(running, length)).toEqual(['Shared shop/b', 'Shared shop/a'])
})

test('a refused Service gets an address of its own when no Service has its key any more', async () => {
  const running = await reconciled({ services: [sharing('a', '80'), sharing('b', '80')] })
  await change(running, 'a', { requests: {} })
  expect(assignments(running)).toEqual(['a 192.0.2.1 Assigned', 'b 192.0.2.2 Assigned'])
})

test('what a refused request reports follows from who has its addresses now', async () => {
  const spec = { ipFamilies: ['IPv4', 'IPv6'] }
  const pools = ['192.0.2.1', 'fd00::1']
  const running = await reconciled({
    services: [
      loadBalanced('b', { spec: { ipFamilies: ['IPv6'] } }),
      loadBalanced('a', { spec, requests: { ips: '192.0.2.1,fd00::1' } }),
    ],
    pools,
  })
  expect(messageOf(running, 'a')).toMatch(/^fd00::1 belongs to shop\/b: /)
  running.cluster.put('services', loadBalanced('c'))
  await running.clock.advance(0)
  expect(messageOf(running, 'a')).toMatch(/^192\.0\.2\.1 belongs to shop\/c: /)
})

test('a shared address is free when the last Service has given it up', async () => {
  const running = await reconciled({
    services: [sharing('a', '80'), sharing('b', '443'), loadBalanced('c')],
    pools: ['192.0.2.1'],
  })
  running.cluster.remove('services', 'shop/a')
  await running.clock.advance(0)
  expect(assignments(running)).toEqual(['b 192.0.2.1 Assigned', 'c False PoolExhausted'])
  running.cluster.remove('services', 'shop/b')
  await running.clock.advance(0)
  expect(assignments(running)).toEqual(['c 192.0.2.1 Assigned'])
})

test('of two that can no longer share, the older one keeps the address', async () => {
  const services = [sharing('a', '80', { createdOn: '05' }), sharing('b', '443')]
  const running = await reconciled({ services })
  const length = running.cluster.log.length
  await change(running, 'b', { requests: { 'sharing-key': 'other' } })
  expect(assignments(running)).toEqual(['a 192.0.2.2 Assigned', 'b 192.0.2.1 Assigned'])
  expect(eventsSince(running, length).toSorted()).toEqual(['Assigned shop/a', 'Assigned shop/b'])
})
