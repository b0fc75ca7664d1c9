import { describe, expect, test } from 'vitest'
import { diagnoseNodes, NODE_CHECKS } from './diagnose.ts'
import type { NodeFacts } from './evidence/node-facts.ts'
import {
  CONFIGURATION,
  fromOutside,
  grown,
  healthyDaemon,
  healthyNode,
  link,
  NOW,
  outcome,
  walk,
} from './testing/healthy-node.ts'

const HOUR = 3_600_000
const one = (given: Partial<NodeFacts>) => new Map([['node-a', healthyNode(given)]])
const found = (given: Partial<NodeFacts>) => diagnoseNodes(one(given))

interface Case {
  readonly what: string
  readonly given: Partial<NodeFacts>
  readonly check: string
  readonly cause: RegExp
  readonly seen?: RegExp
}

const IPVS = { ...CONFIGURATION, mode: 'ipvs', scheduler: 'mh', isOfDaemon: false }
const ABSENT = { daemon: undefined, daemonAbsent: 'node-proxy does not answer' }
const dropped = outcome({
  kind: 'silent',
  where: 'iptables filter FORWARD',
  rule: '-A FORWARD -j DROP',
  packets: 7,
})
const nowhere = outcome({
  kind: 'refused',
  share: 0.5,
  where: 'route',
  rule: 'unreachable 10.1.0.0/16',
  text: 'icmp-host-unreachable',
})
const byOwnRule = outcome({ ...dropped, rule: '-A NPROXY-FILTER-VIPS -j DROP', isOwn: true })
const LOADED = { ...CONFIGURATION, mode: 'ipvs' }
/** It ends after `inMs`, and should have been renewed `lateMs` before. */
const credential = (kind: string, inMs: number, lateMs = 24 * HOUR) =>
  healthyDaemon({
    credentials: [{ kind, expiresAt: NOW + inMs, lateFrom: NOW + inMs - lateMs }],
  })
const REFUSED = {
  isReady: false,
  reasons: ['no watch on services is open: 401 Unauthorized: x'],
  reasonCodes: ['unauthorized'],
}
const manyRules = (own: number, services = 10_000): Partial<NodeFacts> => ({
  daemon: healthyDaemon({ services, changes: { count: 9, p50: 800.4, p99: 900 } }),
  rules: [{ program: 'iptables-legacy', own, others: 0 }],
})
const KEEPING = {
  where: 'iptables-nft nat POSTROUTING',
  rule: '-A POSTROUTING -j MASQUERADE',
  packets: 7,
}
const OLD_KERNEL = grown({ insertFailed: 10, clashesResolved: -1 })
const load = (connections: readonly number[], affinitySeconds = 0): Partial<NodeFacts> => ({
  loads: [
    {
      entry: 'shop/web:/TCP/4',
      service: 'shop/web',
      affinitySeconds,
      backends: connections.map((count, at) => ({
        ip: `10.0.0.${at}`,
        port: 80,
        connections: count,
        connectionsNow: 1,
      })),
    },
  ],
})

const CASES: readonly Case[] = [
  {
    what: 'ipvs is configured, and the kernel has no module',
    given: { ...ABSENT, configuration: IPVS, modules: { ip_vs: 'absent' }, rules: [] },
    check: 'missing-modules',
    cause: /the kernel has not ip_vs$/,
    seen: /module ip_vs: absent/,
  },
  {
    what: 'ipvs is configured, and its scheduler is missing',
    given: { ...ABSENT, configuration: IPVS, hasIpvs: true, modules: { ip_vs_mh: 'absent' } },
    check: 'missing-modules',
    cause: /the kernel has not ip_vs_mh$/,
  },
  {
    what: 'no daemon, and its rules',
    given: ABSENT,
    check: 'daemon-absent',
    cause: /its rules are in the kernel: they go stale/,
    seen: /40 rules of node-proxy are listed by iptables-nft/,
  },
  {
    what: 'neither a daemon nor rules',
    given: { ...ABSENT, rules: [] },
    check: 'daemon-absent',
    cause: /no node-proxy runs/,
  },
  {
    what: 'a certificate that ends',
    given: { daemon: credential('certificate', 23 * HOUR) },
    check: 'expired-credential',
    cause: /certificate of node-proxy expires in 23 hours/,
  },
  {
    what: 'a token that has ended',
    given: { daemon: credential('token', -2 * HOUR) },
    check: 'expired-credential',
    cause: /token of node-proxy expired 2 hours ago/,
  },
  {
    what: 'a certificate that ends in an hour and a half',
    given: { daemon: credential('certificate', 1.5 * HOUR) },
    check: 'expired-credential',
    cause: /certificate of node-proxy expires in 90 minutes/,
  },
  {
    what: 'a token file that has just ended, which explains the rest',
    given: { daemon: { ...credential('token-file', -7_000), ...REFUSED } },
    check: 'expired-credential',
    cause: /token file of node-proxy expired 7 s ago/,
  },
  {
    what: 'a daemon that starts and is refused',
    given: { daemon: healthyDaemon({ ...REFUSED, startedAt: NOW - 1_000 }) },
    check: 'not-ready',
    cause: /no watch on services is open: 401 Unauthorized/,
  },
  {
    what: 'a daemon that was ready soon and is no more',
    given: {
      daemon: healthyDaemon({
        isReady: false,
        startedAt: NOW - 1_000,
        reasons: ['no watch on services is open: refused'],
        reasonCodes: ['refused'],
      }),
    },
    check: 'not-ready',
    cause: /not ready: no watch on services is open: refused/,
  },
  {
    what: 'a daemon without codes that starts and is refused',
    given: { daemon: healthyDaemon({ ...REFUSED, reasonCodes: [], startedAt: NOW - 1_000 }) },
    check: 'not-ready',
    cause: /no watch on services is open: 401 Unauthorized/,
  },
  {
    what: 'a daemon that is not ready',
    given: {
      daemon: healthyDaemon({
        isReady: false,
        reasons: ['no watch on services is open'],
        reasonCodes: ['not-watched'],
      }),
    },
    check: 'not-ready',
    cause: /not ready: no watch on services is open/,
  },
  {
    what: 'a daemon that starts, and whose clock was set back',
    given: {
      daemon: healthyDaemon({
        isReady: false,
        startedAt: NOW + HOUR,
        reasons: ['services are not listed yet'],
        reasonCodes: ['not-listed'],
      }),
    },
    check: 'not-ready',
    cause: /services are not listed yet/,
    seen: /the clock of the node was set back since it started; the kernel keeps/,
  },
  {
    what: 'another mode than configured',
    given: { configuration: LOADED, hasIpvs: true },
    check: 'wrong-mode',
    cause: /mode ipvs is configured, but iptables is at work/,
  },
  {
    what: 'mode auto that found nothing better than userspace',
    given: {
      daemon: healthyDaemon({ mode: 'userspace' }),
      configuration: { ...LOADED, mode: 'auto' },
    },
    check: 'wrong-mode',
    cause: /mode auto took userspace/,
    seen: /module nf_tables: loaded/,
  },
  {
    what: 'another proxy',
    given: {
      proxies: [{ proxy: 'kube-proxy', traces: ['device x'], pids: [7], remedy: 'stop it' }],
    },
    check: 'foreign-proxy',
    cause: /kube-proxy is on this node, too: at work \(pid 7\)/,
  },
  {
    what: 'IPv4 is not forwarded',
    given: { settings: { 'net.ipv4.ip_forward': '0', 'net.bridge.bridge-nf-call-iptables': '1' } },
    check: 'forwarding-off',
    cause: /net\.ipv4\.ip_forward is 0/,
  },
  {
    what: 'IPv6 is not forwarded, and there are Services of IPv6',
    given: {
      settings: {
        'net.ipv6.conf.all.forwarding': '0',
        'net.bridge.bridge-nf-call-iptables': '1',
      },
      walks: [walk({ dst: 'fd00::1', src: 'fd00::2' })],
    },
    check: 'forwarding-off',
    cause: /does not forward IPv6/,
  },
  {
    what: 'an interface that does not forward half of its packets',
    given: {
      walks: [
        walk({
          outcomes: [
            outcome({ share: 0.5, text: '10.180.0.2' }),
            outcome({
              kind: 'silent',
              share: 0.5,
              where: 'route',
              text: 'x does not forward IPv4',
            }),
          ],
        }),
      ],
    },
    check: 'forwarding-off',
    cause: /does not forward packets that come in by/,
    seen: /^from [\d.]+: x does not forward IPv4$/,
  },
  {
    what: 'a Pod’s packets are dropped',
    given: { walks: [walk({ outcomes: [dropped] })] },
    check: 'node-firewall',
    cause: /drops packets to Services: iptables filter FORWARD: -A FORWARD -j DROP/,
    seen: /the rule has counted 7 packets so far/,
  },
  {
    what: 'half of a Service’s packets are refused',
    given: {
      walks: [walk({ outcomes: [outcome({ share: 0.5 }), { ...dropped, kind: 'refused' }] })],
    },
    check: 'node-firewall',
    cause: /refuses packets/,
  },
  {
    what: 'a full table of connections',
    given: { conntrack: { count: 950, max: 1_000 } },
    check: 'conntrack-full',
    cause: /950 of 1000 entries/,
  },
  {
    what: 'connections dropped meanwhile',
    given: { counters: grown({ drop: 1 }) },
    check: 'conntrack-full',
    cause: /is full/,
    seen: /in 1 s 1 packets were dropped/,
  },
  {
    what: 'br_netfilter is not loaded',
    given: { settings: { 'net.ipv4.ip_forward': '1' }, modules: { br_netfilter: 'loadable' } },
    check: 'bridge-netfilter',
    cause: /bridged packets bypass the rules/,
    seen: /is absent: module br_netfilter is loadable/,
  },
  {
    what: 'rp_filter drops packets',
    given: { interfaces: [link('eth0', { rpFilter: 1 })], counters: grown({ reversePath: 1 }) },
    check: 'reverse-path',
    cause: /strict on eth0/,
  },
  {
    what: 'a bridge that is larger than a port',
    given: {
      interfaces: [link('br0', { kind: 'bridge' }), link('p0', { master: 'br0', mtu: 1_499 })],
    },
    check: 'interface-mtu',
    cause: /bridge br0 has MTU 1500, but 1 of its ports/,
  },
  {
    what: 'an uplink that carries less than Pods send',
    given: {
      interfaces: [link('eth0', { mtu: 1_400 }), link('br0', { kind: 'bridge' })],
      uplink: 'eth0',
      localBackends: [{ interface: 'br0', count: 2 }],
    },
    check: 'interface-mtu',
    cause: /uplink eth0 has MTU 1400, and Pods send packets of up to 1500/,
    seen: /br0, to Pods of this node: MTU 1500/,
  },
  {
    what: 'a route that leads to no backend',
    given: { walks: [walk({ outcomes: [outcome({ share: 0.5 }), nowhere] })] },
    check: 'unusable-route',
    cause:
      /^the route "unreachable 10\.1\.0\.0\/16" leads packets to backends of Services nowhere$/,
    seen: /: refused, icmp-host-unreachable/,
  },
  {
    what: 'a policy rule that leads nowhere',
    given: {
      walks: [walk({ outcomes: [{ ...nowhere, where: 'policy rule', rule: 'priority 60' }] })],
    },
    check: 'unusable-route',
    cause: /^the policy rule \(priority 60\) leads/,
  },
  {
    what: 'no route to a backend',
    given: { walks: [walk({ outcomes: [{ ...nowhere, rule: '', text: 'icmp-no-route' }] })] },
    check: 'unusable-route',
    cause: /^this node has no route to a backend of a Service$/,
  },
  {
    what: 'a tunnel over IPv6 that is too large',
    given: {
      interfaces: [
        link('eth0'),
        link('vx0', { kind: 'vxlan', mtu: 1_450, lower: 'eth0', isTunnelV6: true }),
      ],
    },
    check: 'interface-mtu',
    cause: /vx0 has MTU 1450, but eth0 below carries 1430/,
  },
  {
    what: 'a client that source ranges do not admit',
    given: {
      walks: [
        fromOutside({
          purpose: 'fromClient',
          desired: 'drop',
          sourceRanges: ['198.51.100.0/24'],
          outcomes: [byOwnRule],
        }),
      ],
    },
    check: 'source-ranges',
    cause: /do not admit 192\.168\.0\.1/,
  },
  {
    what: 'clients at a node without an endpoint',
    given: {
      walks: [fromOutside({ purpose: 'noLocalEndpoint', desired: 'drop', outcomes: [byOwnRule] })],
    },
    check: 'no-local-endpoint',
    cause: /shop\/web has externalTrafficPolicy Local and no endpoint on this node/,
    seen: /has dropped 7 packets so far/,
  },
  {
    what: 'a backend that refuses',
    given: {
      connects: (['accepts', 'refuses'] as const).map((answer, at) => ({
        entry: 'shop/web:/TCP/4',
        service: 'shop/web',
        ip: `10.0.0.${at}`,
        port: 8_080,
        answer,
      })),
    },
    check: 'backend-refuses',
    cause: /1 of 2 backends of service\/shop\/web .* at port 8080/,
  },
  {
    what: 'a taken node port',
    given: {
      takenPorts: [
        {
          protocol: 'TCP',
          address: '0.0.0.0',
          port: 30_080,
          process: 'nginx',
          pid: 9,
          entry: 'shop/web:/TCP/4',
        },
      ],
    },
    check: 'taken-node-port',
    cause: /nginx \(pid 9\) listens at TCP port 30080/,
  },
  {
    what: 'a conflict',
    given: {
      daemon: healthyDaemon({
        problems: [{ entry: 'shop/b:/TCP/4', code: 'NP_X', message: 'taken' }],
      }),
    },
    check: 'unserved-services',
    cause: /shop\/b:\/TCP\/4 is not served whole: taken/,
  },
  {
    what: 'an address that no node announces',
    given: {
      daemon: healthyDaemon({ announcements: ['no node announces 192.0.2.50 of shop/web'] }),
    },
    check: 'unannounced-addresses',
    cause: /no node announces 192\.0\.2\.50/,
  },
  {
    what: 'a router without a session',
    given: {
      daemon: healthyDaemon({ routes: ['BGP peer 10.0.0.1 of AS 1 is not established: x'] }),
    },
    check: 'unestablished-peers',
    cause: /BGP peer 10\.0\.0\.1 of AS 1 is not established: x/,
  },
  {
    what: 'an object that the kernel refuses',
    given: {
      daemon: healthyDaemon({ refusals: [{ object: '4/x', code: 'NP_X', message: 'no space' }] }),
    },
    check: 'unserved-services',
    cause: /the kernel refuses 4\/x: no space/,
  },
  {
    what: 'insertions that fail by a rule that keeps source ports',
    given: { counters: grown({ drop: 10, insertFailed: 10 }), masquerades: [KEEPING] },
    check: 'lost-insertions',
    cause: /first packets, 10 in 1 s: a rule gives .*: iptables-nft nat POSTROUTING: -A POST/,
    seen: /iptables-nft nat POSTROUTING does not choose .* counted 7 connections/,
  },
  {
    what: 'insertions that fail without such a rule',
    given: { counters: grown({ insertFailed: 10, clashesResolved: 3 }) },
    check: 'lost-insertions',
    cause: /claim the same source port, or none is free/,
    seen: /clash_resolve grew by 3/,
  },
  {
    what: 'insertions that fail in a kernel that loses the second of two packets at once',
    given: { counters: OLD_KERNEL },
    check: 'lost-insertions',
    cause: /two packets of one socket at once/,
  },
  {
    what: 'too many rules',
    given: manyRules(120_312),
    check: 'too-many-rules',
    cause: /120312 rules for 10000 Services/,
    seen: /last 9 changes took 800 ms.*, 900 ms.*\n.* 10000 Services.*iptables \(legacy\) 326\.4 ms, nftables 5 ms, ipvs 9\.2 ms/,
  },
  {
    what: 'too many rules of few Services',
    given: manyRules(60_000, 600),
    check: 'too-many-rules',
    cause: /60000 rules for 600 Services/,
    seen: /measured with 5000 Services of ten/,
  },
  {
    what: 'one backend with most connections',
    given: load([400, 50, 50]),
    check: 'unbalanced-load',
    cause: /one of 3 backends of shop\/web:\/TCP\/4 has 80 % .*long-lived/,
  },
  {
    what: 'the same by affinity',
    given: load([400, 50, 50], 10_800),
    check: 'unbalanced-load',
    cause: /session affinity keeps each client at one backend for 10800 s/,
  },
  {
    what: 'loopback that neighbours reach',
    given: {
      walks: [walk({ purpose: 'toLoopback', service: '', desired: '', dst: '127.0.0.1' })],
    },
    check: 'exposed-loopback',
    cause: /neighbours reach services on 127\.0\.0\.1/,
  },
]

describe('the first finding', () => {
  test.each(CASES)('$what', ({ given, check, cause, seen = /./u }) => {
    const [first] = found(given)
    expect(first).toMatchObject({ check, object: 'node/node-a' })
    expect(first?.cause).toMatch(cause)
    expect(first?.evidence.join('\n')).toMatch(seen)
    expect([first?.remedy, ...(first?.commands ?? [''])].every((text) => text !== '')).toBe(true)
  })
})

test('an expired credential explains that the server refuses it: one finding', () => {
  const [refused = ''] = REFUSED.reasons
  const late = 'no watch: our client certificate expired at x'
  for (const [kind, reason, code] of [
    ['token', refused, 'unauthorized'],
    ['certificate', refused, 'unauthorized'],
    ['certificate', late, 'tls'],
  ] as const) {
    for (const reasonCodes of [[code], []]) {
      const given = { ...credential(kind, -1), isReady: false, reasons: [reason], reasonCodes }
      expect(found({ daemon: given }).map(({ check }) => check)).toEqual(['expired-credential'])
    }
  }
})

test('an expired token does not explain that TLS fails', () => {
  const daemon = {
    ...credential('token', -1),
    isReady: false,
    reasons: ['no watch on services is open: SELF_SIGNED_CERT_IN_CHAIN'],
    reasonCodes: ['tls'],
  }
  expect(found({ daemon }).map(({ check }) => check)).toContain('not-ready')
})

test('a dropped datagram is a finding beside an admitted segment to the same port, and followed as one', () => {
  const [first] = found({
    walks: [fromOutside(), fromOutside({ protocol: 'UDP', outcomes: [dropped] })],
  })
  expect(first?.check).toBe('node-firewall')
  expect(first?.commands.at(-1)).toBe(
    'node-proxy explain 192.168.0.1 192.168.0.2:30080 --protocol udp',
  )
})

test('of a client that source ranges do not admit, the packets of the rule that drops it are named', () => {
  const outcomes = [outcome({ share: 0.5, packets: 3 }), byOwnRule]
  const given = {
    purpose: 'fromClient',
    desired: 'drop',
    sourceRanges: ['10.9.0.0/16'],
    outcomes,
  } as const
  const [first] = found({ walks: [fromOutside(given)] })
  expect(first?.evidence.join()).toContain('dropped, as 7 packets before')
})

test('every check has a case', () => {
  const ofOne = CASES.map(({ check }) => check)
  const all = [...new Set([...ofOne, 'differing-node', 'differing-clock'])].toSorted()
  expect(NODE_CHECKS.map(({ name }) => name).toSorted()).toEqual(all)
})

const IN_ORDER: readonly (readonly [string, Partial<NodeFacts>])[] = [
  ['a healthy node', {}],
  ['ipvs at work', { configuration: LOADED, daemon: healthyDaemon({ mode: 'ipvs' }) }],
  [
    'auto that found nftables',
    { configuration: { ...LOADED, mode: 'auto' }, daemon: healthyDaemon({ mode: 'nftables' }) },
  ],
  [
    'no daemon beside another proxy',
    { ...ABSENT, rules: [], proxies: [{ proxy: 'kube-proxy', traces: [], pids: [1], remedy: '' }] },
  ],
  ['a certificate that ends in two days', { daemon: credential('certificate', 48 * HOUR) }],
  ['a token that is renewed in a minute', { daemon: credential('token-file', 60_000, 0) }],
  [
    'a daemon that starts without an API server',
    {
      daemon: healthyDaemon({
        isReady: false,
        startedAt: NOW - 29_999,
        reasons: ['no watch on services is open: refused', 'services are not listed yet'],
        reasonCodes: ['refused', 'not-listed'],
      }),
    },
  ],
  [
    'a daemon without codes that starts without an API server',
    {
      daemon: healthyDaemon({
        isReady: false,
        startedAt: NOW - 29_999,
        reasons: ['no watch on services is open: refused', 'services are not listed yet'],
      }),
    },
  ],
  ['a daemon that starts', { daemon: healthyDaemon({ isReady: false, startedAt: NOW - 29_999 }) }],
  [
    'IPv6 that is not forwarded, without Services of IPv6',
    {
      settings: { 'net.ipv6.conf.all.forwarding': '0', 'net.bridge.bridge-nf-call-iptables': '1' },
    },
  ],
  [
    'userspace mode without forwarding',
    {
      daemon: healthyDaemon({ mode: 'userspace' }),
      configuration: undefined,
      settings: { 'net.ipv4.ip_forward': '0' },
    },
  ],
  [
    'a firewall that admits one of two clients',
    { walks: [fromOutside(), fromOutside({ src: '203.0.113.77', outcomes: [dropped] })] },
  ],
  ['a drop that is meant', { walks: [walk({ desired: 'drop', outcomes: [dropped] })] }],
  [
    'a network policy',
    { walks: [walk({ outcomes: [{ ...dropped, where: 'iptables filter cali-fw-x' }] })] },
  ],
  ['a rule of node-proxy', { walks: [walk({ outcomes: [byOwnRule] })] }],
  ['what is not known', { walks: [walk({ outcomes: [{ ...dropped, kind: 'uncertain' }] })] }],
  ['94 % of the connections', { conntrack: { count: 949, max: 1_000 } }],
  ['a kernel without connection tracking', { conntrack: undefined, counters: undefined }],
  [
    'a bridge of one Pod',
    {
      settings: { 'net.ipv4.ip_forward': '1' },
      interfaces: [link('cbr0', { kind: 'bridge' }), link('pod0', { master: 'cbr0' })],
    },
  ],
  [
    'masqueradeAll',
    {
      settings: { 'net.ipv4.ip_forward': '1' },
      configuration: { ...LOADED, mode: 'iptables', masqueradeAll: true },
    },
  ],
  [
    'Pods without a bridge',
    { settings: { 'net.ipv4.ip_forward': '1' }, localBackends: [{ interface: 'cali1', count: 1 }] },
  ],
  ['strict rp_filter that drops nothing', { interfaces: [link('eth0', { rpFilter: 1 })] }],
  [
    'loose rp_filter',
    { interfaces: [link('eth0', { rpFilter: 2 })], counters: grown({ reversePath: 9 }) },
  ],
  [
    'a bridge as large as its port',
    {
      interfaces: [
        link('br0', { kind: 'bridge', mtu: 1_450 }),
        link('p0', { master: 'br0', mtu: 1_450 }),
      ],
    },
  ],
  [
    'a port that is down',
    {
      interfaces: [
        link('br0', { kind: 'bridge' }),
        link('p0', { master: 'br0', mtu: 1_400, isUp: false }),
      ],
    },
  ],
  [
    'a tunnel that fits',
    { interfaces: [link('eth0'), link('vx0', { kind: 'vxlan', mtu: 1_450, lower: 'eth0' })] },
  ],
  [
    'no local endpoint, and no packets',
    {
      walks: [
        fromOutside({
          purpose: 'noLocalEndpoint',
          desired: 'drop',
          outcomes: [{ ...byOwnRule, packets: 0 }],
        }),
      ],
    },
  ],
  [
    'a backend that is silent',
    { connects: [{ entry: '', service: '', ip: '10.0.0.1', port: 1, answer: 'silent' }] },
  ],
  ['a rule that keeps source ports, and loses nothing', { masquerades: [KEEPING] }],
  ['nine insertions that fail', { counters: grown({ insertFailed: 9 }) }],
  ['59,999 rules', manyRules(59_999, 5_000)],
  [
    'as many in ipvs mode',
    { ...manyRules(120_312), daemon: healthyDaemon({ mode: 'ipvs' }), configuration: LOADED },
  ],
  ['chance', load([120, 90, 90])],
  ['too few connections', load([89, 0, 0])],
  ['a single backend', load([1_000])],
  ['connections that are not counted', load([400, -1, 50])],
  [
    'loopback that is guarded',
    { walks: [walk({ purpose: 'toLoopback', service: '', desired: '', outcomes: [byOwnRule] })] },
  ],
]

test.each(IN_ORDER)('nothing is found: %s', (_, given) => {
  expect(found(given)).toEqual([])
})

describe('several nodes', () => {
  const nodes = (...given: readonly Partial<NodeFacts>[]) =>
    diagnoseNodes(new Map(given.map((some, at) => [`node-${at}`, healthyNode(some)])))
  const OFF = {
    settings: { 'net.ipv4.ip_forward': '0', 'net.bridge.bridge-nf-call-iptables': '1' },
  }

  test('healthy: nothing', () => expect(nodes({}, {}, {})).toEqual([]))

  test('a cause of one node names it, and those that differ from it', () => {
    expect(nodes({}, OFF, {})).toMatchObject([
      {
        object: 'node/node-1',
        affects: [],
        evidence: expect.arrayContaining(['not so on node-0, node-2']),
      },
    ])
  })

  test('a cause of several nodes is one finding', () => {
    const [first, ...others] = nodes(OFF, {}, OFF)
    expect(others).toEqual([])
    expect(first).toMatchObject({ object: 'node/node-0', affects: ['node/node-2'] })
    expect(first?.evidence).toContain('the same on 1 more node')
  })

  test('the mode that differs', () => {
    const nft = {
      daemon: healthyDaemon({ mode: 'nftables' }),
      configuration: { ...LOADED, mode: 'auto' },
    }
    expect(nodes(nft, { configuration: { ...LOADED, mode: 'auto' } }, nft)).toMatchObject([
      {
        check: 'differing-node',
        object: 'node/node-1',
        cause: 'its mode at work is iptables; 2 of 3 nodes have nftables',
      },
    ])
    expect(nodes(nft, { configuration: { ...LOADED, mode: 'auto' } })).toEqual([])
  })

  test('the MTU that differs; without a majority none does', () => {
    const jumbo = { interfaces: [link('eth0', { mtu: 9_000 })] }
    expect(nodes({}, jumbo, {})[0]?.cause).toBe(
      'its MTU of the uplink is 9000; 2 of 3 nodes have 1500',
    )
    expect(nodes({}, jumbo, {}, jumbo)).toEqual([])
  })

  test('the version that differs', () => {
    expect(nodes({}, {}, { version: '2' }, {})).toMatchObject([
      { object: 'node/node-2', cause: 'its version is 2; 3 of 4 nodes have 1' },
    ])
    expect(nodes({}, {}, { ...ABSENT, rules: [], version: '2' }).map(({ check }) => check)).toEqual(
      ['daemon-absent'],
    )
  })

  test('the setting that differs, of node-proxies that have it', () => {
    const shared = (settings: Record<string, string>) => ({
      configuration: { ...CONFIGURATION, shared: settings },
    })
    const other = { ...CONFIGURATION.shared, clusterCIDR: '""' }
    expect(nodes({}, shared(other), {}, shared({}))).toMatchObject([
      { object: 'node/node-1', cause: 'its clusterCIDR is ""; 2 of 3 nodes have "10.0.0.0/8"' },
    ])
  })

  test('the clock that differs', () => {
    expect(nodes({}, { at: NOW - 301_000 }, {})).toMatchObject([
      {
        check: 'differing-clock',
        object: 'node/node-1',
        cause: 'its clock is 301 s behind the other nodes',
      },
    ])
    expect(nodes({}, { at: NOW + 300_000 }, {})).toEqual([])
  })
})
