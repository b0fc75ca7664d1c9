import { expect, test } from 'vitest'
import { redirected } from '../../../test/support/modes/fake-userspace-node.ts'
import type { ForwardingEntry } from '../../forwarding/entry.ts'
import type { NodePortScope } from '../netfilter/settings/node-port-scope.ts'
import { backend, cidr, entry, frontend, ip, settings } from '../testing/mode-fixtures.ts'
import { digestRoute, render } from './render.ts'
import type { RouteListener } from './route.ts'
import type { UserspaceSettings } from './settings.ts'

const external = frontend({ kind: 'externalIP', ip: ip('5.6.7.8') })
const local = frontend({ ...external, pool: 'local', shortCircuit: true })
const nodePort = frontend({ kind: 'nodePort', ip: 'node', port: 30_080 })
const here = [backend('10.180.0.1', { local: true })]
const noPools = { cluster: [], local: [] }

function listenersOf(one: ForwardingEntry, given = redirected()): readonly RouteListener[] {
  return render(one, given)?.route.listeners ?? []
}

/** `IP PORT` of each listener. */
function placesOf(one: ForwardingEntry, given = redirected()): readonly string[] {
  return listenersOf(one, given).map((listener) => `${listener.ip} ${listener.port}`)
}

/** Members without `NPUS-`, those that all may want last. */
function membersOf(one: ForwardingEntry, given = redirected()): readonly string[] {
  const { claims = [], shared = new Map() } = render(one, given) ?? {}
  const keys = [...claims.flatMap(({ objects }) => [...objects.keys()]), ...shared.keys()]
  return keys.map((key) => key.replace('member/NPUS-', ''))
}

test('a ClusterIP is one listener for all clients, a member of one set', () => {
  const pools = { others: 'cluster', pods: 'cluster' }
  expect(listenersOf(entry())).toEqual([
    { ip: '172.30.0.41', port: 80, pools, sourceRanges: undefined },
  ])
  expect(membersOf(entry())).toEqual(['4-SERVICES/172.30.0.41,tcp:80'])
})

test('a route has what the data path has to know, and nothing else', () => {
  const one = entry({
    draining: [{ ...backend('10.180.0.7'), until: 5 }],
    affinity: { seconds: 9 },
    proxyProtocol: 'v2',
    healthCheckPort: 32_000,
    pools: { cluster: [...here, backend('10.180.0.2', { weight: 0 })], local: here },
  })
  expect(render(one, redirected())?.route).toEqual({
    id: one.id,
    service: 'shop/cart',
    protocol: 'TCP',
    family: 4,
    balancing: 'rr',
    listeners: listenersOf(one),
    pools: { cluster: here, local: here },
    affinity: { seconds: 9 },
    proxyProtocol: 'v2',
  })
})

test('each change of a route changes its digest', () => {
  const digests = [
    entry(),
    entry({ pools: noPools }),
    entry({ proxyProtocol: 'v1' }),
    entry({ frontends: [external] }),
  ].map((one) => digestRoute(render(one, redirected())!.route))
  expect(new Set(digests).size).toBe(digests.length)
})

test.each([
  ['rr', 'lc', 'rr'],
  ['lc', 'rr', 'lc'],
  ['wlc', 'lc', 'lc'],
  [undefined, 'lc', 'lc'],
] as const)('scheduler %s where %s is for all: %s', (scheduler, balancing, expected) => {
  const { route } = render(entry({ scheduler }), { ...redirected(), balancing })!
  expect(route.balancing).toBe(expected)
})

test('SCTP and families that are not served are nothing', () => {
  expect(render(entry({ protocol: 'SCTP' }), redirected())).toBeUndefined()
  const six = redirected({ netfilter: settings({ families: [6] }) })
  expect(render(entry({ healthCheckPort: 32_000 }), six)).toBeUndefined()
})

test('a node port is a listener at every address of the family, and on loopback where configured', () => {
  const onLoopback = redirected({ netfilter: settings({ localhostNodePorts: true }) })
  const six = entry({ family: 6, frontends: [nodePort] })
  expect(placesOf(entry({ frontends: [nodePort] }))).toEqual(['192.0.2.10 30080'])
  expect(placesOf(entry({ frontends: [nodePort] }), onLoopback)).toEqual([
    '192.0.2.10 30080',
    '127.0.0.1 30080',
  ])
  expect(placesOf(six, onLoopback)).toEqual(['fd00:2::10 30080'])
  expect(render(six, redirected())?.claims.map(({ rank }) => rank)).toEqual([1])
})

test('loopback serves only where nodePortAddresses selects it', () => {
  const scoped = (nodePortScope: NodePortScope) =>
    placesOf(
      entry({ frontends: [nodePort] }),
      redirected({ netfilter: settings({ localhostNodePorts: true, nodePortScope }) }),
    ).includes('127.0.0.1 30080')
  expect(scoped({ kind: 'networks', networks: [cidr('127.0.0.0/8')] })).toBe(true)
  expect(scoped({ kind: 'networks', networks: [cidr('192.0.2.0/24')] })).toBe(false)
  expect(scoped({ kind: 'addresses', addresses: [ip('192.0.2.10')] })).toBe(false)
})

test('policy Local: others get the local pool, pods and this node all', () => {
  const one = entry({ frontends: [local], pools: { cluster: here, local: here } })
  expect(listenersOf(one)[0]?.pools).toEqual({ others: 'local', pods: 'cluster' })
  expect(membersOf(one)).toEqual(['4-SERVICES/5.6.7.8,tcp:80'])
})

test('policy Local without a local backend: others meet the answer, pods are taken', () => {
  const one = entry({ frontends: [local], pools: { cluster: here, local: [] } })
  const taken = ['4-SERVICES/5.6.7.8,tcp:80', '4-SHORTCUT/5.6.7.8,tcp:80']
  expect(membersOf(one)).toEqual([...taken, '4-DROP/5.6.7.8,tcp:80'])
  const whenEmpty = { cluster: 'reject', local: 'reject' } as const
  expect(membersOf({ ...one, whenEmpty })).toEqual([...taken, '4-REJECT/5.6.7.8,tcp:80'])
  expect(membersOf({ ...one, pools: noPools })).toEqual([
    '4-SERVICES/5.6.7.8,tcp:80',
    '4-DROP/5.6.7.8,tcp:80',
  ])
})

test('an empty pool, or one of weight 0, has an answer', () => {
  const asleep = { cluster: [backend('10.180.0.1', { weight: 0 })], local: [] }
  for (const pools of [noPools, asleep]) {
    expect(membersOf(entry({ pools }))).toContain('4-REJECT/172.30.0.41,tcp:80')
  }
})

test('source ranges: members for the rules, and all of them for the forwarder', () => {
  const sourceRanges = [cidr('203.0.113.0/25'), cidr('0.0.0.0/0')]
  const one = entry({ frontends: [{ ...external, sourceRanges }] })
  expect(membersOf(one)).toEqual([
    '4-SERVICES/5.6.7.8,tcp:80',
    '4-RANGED/5.6.7.8,tcp:80',
    '4-ALLOWED/5.6.7.8,tcp:80,203.0.113.0/25',
    '4-ALLOWED/5.6.7.8,tcp:80,0.0.0.0/1',
    '4-ALLOWED/5.6.7.8,tcp:80,128.0.0.0/1',
  ])
  expect(listenersOf(one)[0]?.sourceRanges).toEqual(sourceRanges)
})

test('the health check port is admitted at every address of the family, listeners or not', () => {
  const one = entry({ healthCheckPort: 32_000, frontends: [] })
  expect(membersOf(one)).toEqual(['4-ADMIT/192.0.2.10,tcp:32000'])
})

const bound: UserspaceSettings = {
  listening: {
    kind: 'bound',
    bindings: new Map([
      ['shop/cart:http/TCP', [{ ip: ip('127.0.0.1'), port: 8080 }]],
      ['shop/cart/TCP', [{ ip: ip('::1'), port: 8080 }]],
    ]),
  },
  balancing: 'lc',
}

test('bound, a Service has the listeners that it is given, the cluster pool for all clients, and no members', () => {
  const one = entry({ frontends: [frontend(), local], healthCheckPort: 32_000 })
  const pools = { others: 'cluster', pods: 'cluster' }
  expect(listenersOf(one, bound)).toEqual([
    { ip: '127.0.0.1', port: 8080, pools, sourceRanges: undefined },
  ])
  expect(placesOf({ ...one, family: 6 }, bound)).toEqual(['::1 8080'])
  expect(membersOf(one, bound)).toEqual([])
  expect(render({ ...one, protocol: 'UDP' }, bound)).toBeUndefined()
})
