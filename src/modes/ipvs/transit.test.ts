import { expect, test } from 'vitest'
import { ipvsSettings } from '../../../test/support/modes/fake-ipvs-node.ts'
import { FakeRelays } from '../../kernel/relay/testing/fake-relays.ts'
import { FakeRoutes } from '../../kernel/route/testing/fake-routes.ts'
import { NodeProxyError } from '../../lib/error.ts'
import type { ObjectKey } from '../mode.ts'
import { policyRoute, ROUTE_TABLES } from '../netfilter/policy-routes.ts'
import { ip, settings } from '../testing/mode-fixtures.ts'
import type { IpvsSettings } from './settings.ts'
import { Transit } from './transit.ts'

const key = (text: string) => text as ObjectKey
const FOUR = key('route/4')
const SIX = key('route/6')
const TCP = key('relay/tcp/30080')
const UDP = key('relay/udp/30053')
const relaying = { netfilter: settings({ localhostNodePorts: true }) }

function createTransit(
  overrides: Partial<IpvsSettings> = relaying,
  kernel = { routes: new FakeRoutes(), relays: new FakeRelays() },
) {
  return { ...kernel, kernel, transit: new Transit(ipvsSettings(overrides), kernel) }
}

test('a route for each family, known by the routing bit', async () => {
  const { routes, transit } = createTransit()
  expect(await transit.set([FOUR, SIX])).toEqual(new Map())
  expect(await routes.list()).toEqual(
    [4, 6].map((family) => ({
      family,
      mark: 0x2000,
      mask: 0x2000,
      table: 28_272,
      priority: 7,
    })),
  )
  expect(await transit.observe()).toEqual(
    new Map([
      [FOUR, 1],
      [SIX, 1],
    ]),
  )
  await transit.unset([FOUR])
  expect([...(await transit.observe()).keys()]).toEqual([SIX])
})

test('relays listen on loopback and lead to this node’s own address', async () => {
  const { relays, transit } = createTransit()
  await transit.set([TCP, UDP])
  expect(relays.list()).toEqual([
    {
      protocol: 'TCP',
      listen: { ip: '127.0.0.1', port: 30_080 },
      target: { ip: '192.0.2.10', port: 30_080 },
    },
    {
      protocol: 'UDP',
      listen: { ip: '127.0.0.1', port: 30_053 },
      target: { ip: '192.0.2.10', port: 30_053 },
    },
  ])
  expect([...(await transit.observe()).keys()]).toEqual([TCP, UDP])
  await transit.unset([TCP])
  expect([...(await transit.observe()).keys()]).toEqual([UDP])
})

test('when the address of the node changes, its relays are seen to be wrong and follow', async () => {
  const { kernel, transit: before } = createTransit()
  await before.set([TCP])
  const { transit: after, relays } = createTransit(
    { ...relaying, nodeAddresses: [ip('198.51.100.1')] },
    kernel,
  )
  expect((await after.observe()).get(TCP)).not.toBe(1)
  await after.set([TCP])
  expect(relays.list()).toMatchObject([{ target: { ip: '198.51.100.1' } }])
  expect((await after.observe()).get(TCP)).toBe(1)
})

test('a route for another mark, of an earlier start, is replaced once the new one stands', async () => {
  const { kernel, routes, transit: before } = createTransit()
  await before.set([FOUR, SIX])
  const netfilter = settings({ masqueradeBit: 13 })
  const { transit: after } = createTransit({ netfilter }, kernel)
  expect([...(await after.observe()).values()]).not.toContain(1)
  await after.set([FOUR, SIX])
  expect(await routes.list()).toHaveLength(4)
  await after.tidy([FOUR, SIX])
  const ours = ([4, 6] as const).map((family) => policyRoute(netfilter, family, ROUTE_TABLES.ipvs))
  expect(await routes.list()).toEqual(ours)
  expect([...(await after.observe()).values()]).toEqual([1, 1])
})

test('the route of another mode stays', async () => {
  const { routes, transit: ours } = createTransit()
  const theirs = policyRoute(settings(), 4, ROUTE_TABLES.userspace)
  await routes.ensure(theirs)
  await ours.set([FOUR])
  await ours.tidy([FOUR])
  await ours.removeAll()
  expect(await routes.list()).toEqual([theirs])
})

test('a family that is not served any more keeps no route', async () => {
  const { kernel, routes, transit: before } = createTransit()
  await before.set([FOUR, SIX])
  const { transit: after } = createTransit({ netfilter: settings({ families: [4] }) }, kernel)
  expect([...(await after.observe())]).toEqual([
    [FOUR, 1],
    [SIX, 2],
  ])
  await after.unset([SIX])
  expect((await routes.list()).map(({ family }) => family)).toEqual([4])
})

test('refusals are values', async () => {
  const { routes, relays, transit } = createTransit()
  routes.refusal = new NodeProxyError('NP_KERNEL_ROUTE', 'ip rule: EPERM')
  relays.taken.add('tcp/127.0.0.1:30080')
  const refused = { code: 'NP_KERNEL_ROUTE', message: 'ip rule: EPERM' }
  const failed = await transit.set([FOUR, TCP, UDP])
  expect(failed.get(FOUR)).toEqual(refused)
  expect(failed.get(TCP)?.code).toBe('NP_KERNEL_RELAY')
  expect(failed.has(UDP)).toBe(false)
  expect(await transit.unset([SIX])).toEqual(new Map([[SIX, refused]]))
})

test('a removal of our routes by another process is reported', async () => {
  const { routes, transit } = createTransit()
  await transit.set([FOUR, SIX])
  const reported: unknown[] = []
  const stop = transit.watch((change) => reported.push(change))
  routes.foreignRuleFlush(4)
  expect(reported).toEqual([{ keys: [FOUR, SIX], by: 'another program' }])
  expect([...(await transit.observe()).keys()]).toEqual([SIX])
  stop()
  routes.foreignRuleFlush(6)
  expect(reported).toHaveLength(1)
})

test('everything goes, of earlier starts too', async () => {
  const { kernel, routes, relays, transit: before } = createTransit()
  await before.set([FOUR, SIX, TCP, UDP])
  const { transit: after } = createTransit({ netfilter: settings({ masqueradeBit: 20 }) }, kernel)
  await after.removeAll()
  expect(await routes.list()).toEqual([])
  expect(relays.list()).toEqual([])
  expect(await after.observe()).toEqual(new Map())
})
