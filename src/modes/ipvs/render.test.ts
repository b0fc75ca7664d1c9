import { expect, test } from 'vitest'
import { ipvsSettings } from '../../../test/support/modes/fake-ipvs-node.ts'
import type { ForwardingEntry } from '../../forwarding/entry.ts'
import type { NodePortScope } from '../netfilter/settings/node-port-scope.ts'
import { backend, cidr, entry, frontend, ip, settings } from '../testing/mode-fixtures.ts'
import { needsMark, persistenceOf, render } from './render.ts'
import { digestOf, specText } from './servers/server-spec.ts'
import type { IpvsSettings } from './settings.ts'

const MARK = 0xa5_1234

/** Objects by their short keys, `N-` for `NPVS-`; of virtual servers the text behind the digest. */
function objectsOf(
  one: ForwardingEntry,
  given: Partial<IpvsSettings> = {},
  mark?: number,
): readonly string[] {
  const { claims, shared, servers } = render(one, ipvsSettings(given), mark)
  const all = [...claims.flatMap(({ objects }) => [...objects]), ...shared]
  return all.map(([key, digest]) => {
    const spec = servers.get(key)
    if (spec === undefined) return `${key.replace(/^(member|set)\/NPVS-/, '')} ${digest}`
    expect(digest).toBe(digestOf(specText(spec)))
    return `${key} ${specText(spec)}`
  })
}

const external = frontend({ kind: 'externalIP', ip: ip('5.6.7.8'), masquerade: 'always' })
const local = frontend({ ...external, pool: 'local', shortCircuit: true, masquerade: 'onNode' })
const nodePort = frontend({ ...external, kind: 'nodePort', ip: 'node', port: 30_080 })
const here = [backend('10.180.0.1', { local: true })]
const everywhere = [...here, backend('10.180.9.1')]
const noPools = { cluster: [], local: [] }

test('a ClusterIP is one virtual server, which two sets know', () => {
  expect(objectsOf(entry())).toEqual([
    '4-SERVICES/172.30.0.41,tcp:80 1',
    'vs/4/tcp/172.30.0.41:80 rr|10.180.0.1:8080*1 10.180.0.2:8080*1',
    '4-VIPS/172.30.0.41 1',
  ])
})

test('a Service of IPv6 is in the sets of IPv6', () => {
  const one = entry({
    family: 6,
    protocol: 'UDP',
    frontends: [frontend({ ip: ip('fd00::1'), port: 53 })],
    pools: { cluster: [backend('fd00:10::1')], local: [] },
  })
  expect(objectsOf(one)).toEqual([
    '6-SERVICES/fd00::1,udp:53 1',
    'vs/6/udp/[fd00::1]:53 rr|[fd00:10::1]:8080*1',
    '6-VIPS/fd00::1 1',
  ])
})

test('external traffic is masqueraded', () => {
  expect(objectsOf(entry({ frontends: [external] }))).toEqual([
    '4-SERVICES/5.6.7.8,tcp:80 1',
    '4-MASQUERADE/5.6.7.8,tcp:80 1',
    'vs/4/tcp/5.6.7.8:80 rr|10.180.0.1:8080*1 10.180.0.2:8080*1',
    '4-VIPS/5.6.7.8 1',
  ])
})

test('a node port is a virtual server at every address of the family, and no VIP', () => {
  const nodeAddresses = ['192.0.2.10', 'fd00:2::10', '198.51.100.3'].map(ip)
  const objects = objectsOf(entry({ frontends: [nodePort] }), { nodeAddresses })
  expect(
    objects.filter((text) => text.startsWith('vs/')).map((text) => text.split(' ')[0]),
  ).toEqual(['vs/4/tcp/192.0.2.10:30080', 'vs/4/tcp/198.51.100.3:30080'])
  expect(objects.some((text) => text.includes('VIPS'))).toBe(false)
})

test('policy Local: the address has the local pool, the mark the cluster pool', () => {
  const one = entry({ frontends: [local], pools: { cluster: everywhere, local: here } })
  expect(needsMark(one)).toBe(true)
  expect(objectsOf(one, {}, MARK)).toEqual([
    '4-SERVICES/5.6.7.8,tcp:80 1',
    '4-ONNODE/5.6.7.8,tcp:80 1',
    `4-SHORTCUT/5.6.7.8,tcp:80 ${MARK}`,
    'vs/4/tcp/5.6.7.8:80 rr|10.180.0.1:8080*1',
    '4-VIPS/5.6.7.8 1',
    `vs/4/mark/${MARK} rr|10.180.0.1:8080*1 10.180.9.1:8080*1`,
  ])
})

test('policy Local without a local backend: clients outside get no answer, pods and the node are served', () => {
  const one = entry({ frontends: [local], pools: { cluster: everywhere, local: [] } })
  expect(objectsOf(one, {}, MARK)).toEqual([
    '4-SERVICES/5.6.7.8,tcp:80 1',
    '4-ONNODE/5.6.7.8,tcp:80 1',
    '4-DROP/5.6.7.8,tcp:80 1',
    `4-SHORTCUT/5.6.7.8,tcp:80 ${MARK}`,
    '4-VIPS/5.6.7.8 1',
    `vs/4/mark/${MARK} rr|10.180.0.1:8080*1 10.180.9.1:8080*1`,
  ])
})

test('where the short circuit has a backend nothing is rejected, because INPUT rejects pods too', () => {
  const asleep = [backend('10.180.0.1', { local: true, weight: 0 })]
  const one = entry({
    frontends: [local],
    pools: { cluster: everywhere, local: asleep },
    whenEmpty: { cluster: 'reject', local: 'reject' },
  })
  const objects = objectsOf(one, {}, MARK)
  expect(objects).toContain('4-DROP/5.6.7.8,tcp:80 1')
  expect(objects).not.toContain('4-REJECT/5.6.7.8,tcp:80 1')
})

test('no entry needs a mark where the cluster pool is empty, or all take the same pool', () => {
  expect(needsMark(entry({ frontends: [local], pools: noPools }))).toBe(false)
  expect(needsMark(entry())).toBe(false)
})

test('an empty pool has no virtual server and an answer', () => {
  expect(objectsOf(entry({ pools: noPools }))).toEqual([
    '4-SERVICES/172.30.0.41,tcp:80 1',
    '4-REJECT/172.30.0.41,tcp:80 1',
    '4-VIPS/172.30.0.41 1',
  ])
  const internal = entry({ frontends: [frontend({ pool: 'local' })], pools: noPools })
  expect(objectsOf(internal)).toContain('4-DROP/172.30.0.41,tcp:80 1')
})

test('backends of weight 0 are none', () => {
  const cluster = [backend('10.180.0.1', { weight: 0 }), backend('10.180.0.2', { weight: 3 })]
  expect(objectsOf(entry({ pools: { cluster, local: [] } }))).toContain(
    'vs/4/tcp/172.30.0.41:80 rr|10.180.0.2:8080*3',
  )
  const idle = entry({ pools: { cluster: cluster.slice(0, 1), local: [] } })
  expect(objectsOf(idle)).toContain('4-REJECT/172.30.0.41,tcp:80 1')
})

test('source ranges: the point is ranged, each range is a member', () => {
  const sourceRanges = [cidr('203.0.113.0/25'), cidr('198.51.100.7/32')]
  expect(objectsOf(entry({ frontends: [{ ...external, sourceRanges }] }))).toEqual(
    expect.arrayContaining([
      '4-RANGED/5.6.7.8,tcp:80 1',
      '4-ALLOWED/5.6.7.8,tcp:80,203.0.113.0/25 1',
      '4-ALLOWED/5.6.7.8,tcp:80,198.51.100.7/32 1',
    ]),
  )
})

test('no range admits no client', () => {
  const objects = objectsOf(entry({ frontends: [{ ...external, sourceRanges: [] }] }))
  expect(objects).toContain('4-RANGED/5.6.7.8,tcp:80 1')
  expect(objects.some((text) => text.includes('ALLOWED'))).toBe(false)
})

test.each([
  [4, '5.6.7.8', '0.0.0.0/0', ['5.6.7.8,tcp:80,0.0.0.0/1', '5.6.7.8,tcp:80,128.0.0.0/1']],
  [6, 'fd00::1', '::/0', ['fd00::1,tcp:80,::/1', 'fd00::1,tcp:80,8000::/1']],
] as const)('all of IPv%i is two halves, which a set takes', (family, vip, range, members) => {
  const halves = members.map((member) => cidr(member.split(',')[2] ?? ''))
  for (const sourceRanges of [[cidr(range)], [cidr(range), ...halves]]) {
    const ranged = { ...external, ip: ip(vip), sourceRanges }
    const objects = objectsOf(entry({ family, frontends: [ranged] }))
    expect(objects.filter((text) => text.includes('ALLOWED'))).toEqual(
      members.map((member) => `${family}-ALLOWED/${member} 1`),
    )
  }
})

test('affinity is persistence of single clients', () => {
  const sticky = { affinity: { seconds: 300 } }
  expect(objectsOf(entry(sticky))[1]).toContain(' rr 300/32|')
  const six = frontend({ ip: ip('fd00::1') })
  expect(objectsOf(entry({ ...sticky, family: 6, frontends: [six] }))[1]).toContain(' rr 300/128|')
})

test('one known by a mark keeps clients by sh: with persistence it would send to the port of the client', () => {
  const sticky = { affinity: { seconds: 300 }, frontends: [local] }
  const marked = objectsOf(entry(sticky), {}, MARK).filter((text) => text.startsWith('vs/4/mark/'))
  expect(marked).toEqual([expect.stringContaining(' sh fallback|10.180.0.1:8080*1 ')])
})

test.each([
  ['wlc', 'wlc|'],
  ['sh', 'sh fallback|'],
  ['mh', 'mh fallback sourcePort|'],
])('scheduler %s, by a Service or for all', (scheduler, text) => {
  expect(objectsOf(entry({ scheduler }), { scheduler: 'lc' })[1]).toContain(` ${text}`)
  expect(objectsOf(entry(), { scheduler })[1]).toContain(` ${text}`)
})

test('the health check port is admitted at every address of the family', () => {
  expect(objectsOf(entry({ healthCheckPort: 32_000 }))).toContain('4-ADMIT/192.0.2.10,tcp:32000 1')
  const six = entry({ family: 6, healthCheckPort: 32_000, frontends: [] })
  expect(objectsOf(six)).toEqual(['6-ADMIT/fd00:2::10,tcp:32000 1'])
})

test('nothing of ours stands in excluded networks, and everything else does', () => {
  const excludeCIDRs = [cidr('172.30.0.0/24'), cidr('192.0.2.0/24'), cidr('fd00:2::/64')]
  const both = entry({ frontends: [frontend(), external, nodePort] })
  expect(objectsOf(both, { excludeCIDRs }).map((text) => text.split(/[,: ]/)[0])).toEqual([
    '4-SERVICES/5.6.7.8',
    '4-MASQUERADE/5.6.7.8',
    'vs/4/tcp/5.6.7.8',
    '4-VIPS/5.6.7.8',
  ])
})

const onLoopback = { netfilter: settings({ localhostNodePorts: true }) }
const relaysOf = (one: ForwardingEntry, given: Partial<IpvsSettings> = onLoopback) =>
  objectsOf(one, given, MARK).filter((text) => text.startsWith('relay/'))

test('node ports on loopback are relayed, for TCP and UDP in IPv4, where configured', () => {
  const one = entry({ frontends: [nodePort] })
  expect(relaysOf(one)).toEqual(['relay/tcp/30080 1'])
  expect(relaysOf({ ...one, protocol: 'UDP' })).toEqual(['relay/udp/30080 1'])
  expect(relaysOf({ ...one, protocol: 'SCTP' })).toEqual([])
  expect(relaysOf({ ...one, family: 6 })).toEqual([])
  expect(relaysOf(entry())).toEqual([])
  expect(relaysOf(one, {})).toEqual([])
})

test('loopback serves only where nodePortAddresses selects it', () => {
  const scoped = (nodePortScope: NodePortScope) =>
    relaysOf(entry({ frontends: [nodePort] }), {
      netfilter: settings({ localhostNodePorts: true, nodePortScope }),
    })
  expect(scoped({ kind: 'networks', networks: [cidr('127.0.0.0/8')] })).toHaveLength(1)
  expect(scoped({ kind: 'networks', networks: [cidr('192.0.2.0/24')] })).toEqual([])
  expect(scoped({ kind: 'addresses', addresses: [ip('192.0.2.10')] })).toEqual([])
})

test('a relay needs a backend that a process of this node would reach', () => {
  expect(relaysOf(entry({ frontends: [nodePort], pools: noPools }))).toEqual([])
  const localNodePort = { ...nodePort, pool: 'local', shortCircuit: true } as const
  const away = entry({ frontends: [localNodePort], pools: { cluster: everywhere, local: [] } })
  expect(relaysOf(away)).toEqual(['relay/tcp/30080 1'])
  expect(relaysOf(entry({ frontends: [nodePort] }), { ...onLoopback, nodeAddresses: [] })).toEqual(
    [],
  )
  const excludeCIDRs = [cidr('192.0.2.0/24')]
  expect(relaysOf(entry({ frontends: [nodePort] }), { ...onLoopback, excludeCIDRs })).toEqual([])
})

test('an address of the node that one entry also names is the named one', () => {
  const own = frontend({ ip: ip('192.0.2.10'), port: 30_080, pool: 'local' })
  const one = entry({ frontends: [own, nodePort], pools: { cluster: everywhere, local: here } })
  const { claims, servers } = render(one, ipvsSettings(), undefined)
  const [named] = claims.filter(({ rank }) => rank === 0)
  for (const [key, spec] of servers) {
    expect(named?.objects.get(key)).toBe(digestOf(specText(spec)))
  }
})

test.each([
  [4, 32],
  [6, 128],
] as const)('clients of IPv%i are single addresses', (family, prefix) => {
  const entry = { family, affinity: { seconds: 300 } } as ForwardingEntry
  expect(persistenceOf(entry)).toEqual({ seconds: 300, prefix })
  expect(persistenceOf({ ...entry, affinity: undefined })).toBeUndefined()
})
