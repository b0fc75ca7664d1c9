import { expect, test } from 'vitest'
import type { IpAddress } from '../lib/ip.ts'
import type { JsonObject } from './host/run-command.ts'
import { tableRouting } from './table-routing.ts'
import type { RouteQuery } from './walk/routing.ts'

const ip = (text: string) => text as IpAddress
const HERE = ip('10.0.0.1')

const RULES: readonly JsonObject[] = [
  { priority: 0, src: 'all', table: 'local' },
  { priority: 40, src: 'all', nop: null },
  { priority: 50, src: 'all', fwmark: '0x2000', fwmask: '0x2000', table: '100' },
  { priority: 60, src: '10.9.0.0', srclen: 16, iif: 'eth0', action: 'prohibit' },
  { priority: 61, src: 'all', ipproto: 'tcp', dport: 25, action: 'blackhole' },
  { priority: 61, src: 'all', ipproto: 'ipproto-17', dport: 26, action: 'blackhole' },
  { priority: 62, src: 'all', dst: '10.8.0.0', dstlen: 16, goto: 32_767 },
  { priority: 63, not: null, src: 'all', dst: '0.0.0.0', dstlen: 1, table: '7' },
  { priority: 64, src: 'all', dst: '10.77.0.0', dstlen: 16, uid_start: 0, table: 'main' },
  { priority: 32_766, src: 'all', table: 'main' },
  { priority: 32_767, src: 'all', table: 'default' },
]

const ROUTES: readonly JsonObject[] = [
  { type: 'local', dst: 'default', dev: 'lo', table: '100' },
  { dst: 'default', gateway: '10.0.0.2', dev: 'eth0', flags: [] },
  { dst: '10.0.0.0/24', dev: 'eth0', prefsrc: '10.0.0.1' },
  { dst: '203.0.113.0/24', dev: 'eth7', table: '7' },
  { dst: '10.5.0.0/16', gateway: '10.0.0.9', dev: 'eth1', metric: 50 },
  { dst: '10.5.0.0/16', gateway: '10.0.0.8', dev: 'eth0', metric: 20 },
  { dst: '10.5.6.0/24', gateway: '10.0.0.7', dev: 'eth0', flags: ['dead', 'linkdown'] },
  { dst: '10.6.0.0/16', nexthops: [{ dev: 'eth0' }, { dev: 'eth1' }] },
  { dst: '10.7.0.0/16', nexthops: [{ dev: 'eth0', flags: ['dead'] }, { dev: 'eth1' }] },
  { type: 'blackhole', dst: '10.66.0.0/16' },
  { type: 'unreachable', dst: '10.67.0.0/16' },
  { type: 'throw', dst: '10.68.0.0/16' },
  { dst: '10.68.0.0/16', dev: 'eth1', table: 'default' },
  { type: 'local', dst: '10.0.0.1', dev: 'eth0', table: 'local', prefsrc: '10.0.0.1' },
  { type: 'local', dst: '127.0.0.0/8', dev: 'lo', table: 'local', prefsrc: '127.0.0.1' },
]

function route(query: Partial<RouteQuery>, filter = 0) {
  const listings = { 4: { rules: RULES, routes: ROUTES }, 6: { rules: [], routes: [] } }
  const routing = tableRouting(listings, {
    addressType: (address) => (address === HERE ? 'local' : 'unicast'),
    masqueradeAddress: () => HERE,
    routesLoopback: () => false,
    reversePathFilter: () => filter,
  })
  return routing.route({
    family: 4,
    protocol: 'TCP',
    src: undefined,
    dst: ip('192.0.2.1'),
    dstPort: 80,
    inInterface: undefined,
    mark: 1,
    ...query,
  })
}

test.each([
  ['192.0.2.1', { outInterface: 'eth0', gateway: '10.0.0.2', source: HERE }],
  ['10.0.0.9', { outInterface: 'eth0', gateway: undefined, source: HERE }],
  ['10.5.6.7', { outInterface: 'eth0', gateway: '10.0.0.8' }],
  ['10.7.0.1', { outInterface: 'eth1' }],
  ['10.0.0.1', { kind: 'local', source: HERE }],
  ['127.0.0.2', { kind: 'local', source: '127.0.0.1' }],
  [
    '10.66.0.1',
    {
      kind: 'dropped',
      reason: 'the route blackhole 10.66.0.0/16',
      deadEnd: { where: 'route', object: 'blackhole 10.66.0.0/16' },
    },
  ],
  ['10.67.0.1', { kind: 'unreachable', how: 'host-unreachable' }],
  ['10.68.0.1', { outInterface: 'eth1' }],
  ['10.8.0.1', { kind: 'unreachable', reason: 'no route' }],
  ['10.6.0.1', { kind: 'uncertain', reason: '2 next hops of the route to 10.6.0.0/16' }],
  ['10.77.0.1', { kind: 'uncertain', reason: 'policy rule 64' }],
])('from this node to %s', async (dst, expected) => {
  expect(await route({ dst: ip(dst) })).toMatchObject(expected)
})

test.each([
  [{ mark: 0x2001 }, { kind: 'local', source: '192.0.2.1' }],
  [{ dstPort: 25 }, { kind: 'dropped' }],
  [{ dstPort: 25, protocol: 'UDP' as const }, { kind: 'unicast' }],
  [{ dstPort: 26, protocol: 'UDP' as const }, { kind: 'dropped' }],
  [{ dstPort: 26 }, { kind: 'unicast' }],
  [
    { src: ip('10.9.0.1'), inInterface: 'eth0' },
    { kind: 'unreachable', how: 'prohibited', reason: 'the policy rule of priority 60 (prohibit)' },
  ],
  [
    { dst: ip('10.67.0.1'), src: ip('10.0.0.7'), inInterface: 'eth0' },
    { kind: 'unreachable', how: 'host-unreachable', reason: 'the route unreachable 10.67.0.0/16' },
  ],
  [{ src: ip('10.9.0.1'), inInterface: 'eth1' }, { kind: 'unicast' }],
  [
    { src: HERE, inInterface: 'eth0' },
    { kind: 'dropped', reason: /martian/ },
  ],
  [
    { src: ip('127.0.0.5'), inInterface: 'eth0' },
    { kind: 'dropped', reason: /martian/ },
  ],
  [{ dst: ip('203.0.113.5') }, { kind: 'unicast', outInterface: 'eth7' }],
])('%j', async (query, expected) => {
  const { reason, ...rest } = expected as { kind: string; reason?: RegExp | string }
  const answer = await route(query)
  expect(answer).toMatchObject(rest)
  if (reason !== undefined) expect(JSON.stringify(answer)).toMatch(reason)
})

test('rp_filter drops what comes by another interface than answers leave by', async () => {
  const from = { src: ip('10.5.0.1') }
  const strict = await route({ ...from, inInterface: 'eth1' }, 1)
  expect(strict).toEqual({
    kind: 'dropped',
    reason: 'rp_filter of eth1: answers to 10.5.0.1 leave elsewhere',
  })
  expect(await route({ ...from, inInterface: 'eth1' }, 2)).toMatchObject({ kind: 'unicast' })
  expect(await route({ ...from, inInterface: 'eth0', mark: 1 }, 1)).toMatchObject({
    kind: 'unicast',
  })
})

test('without rules and routes nothing is reached', async () => {
  const query = { family: 6, dst: ip('2001:db8::1') } as const
  expect(await route(query)).toEqual({
    kind: 'unreachable',
    how: 'no-route',
    reason: 'no route',
  })
})
