import { expect, test } from 'vitest'
import { FakeSets } from '../../kernel/ipset/testing/fake-sets.ts'
import { FakeIptables } from '../../kernel/iptables/testing/fake-iptables.ts'
import type { Family } from '../../lib/ip.ts'
import { chainsOf } from '../netfilter/chains/base-rules.ts'
import type { NetfilterSettings } from '../netfilter/settings/settings.ts'
import { cidr, settings } from '../testing/mode-fixtures.ts'
import { baseRules } from './base-rules.ts'
import type { RedirectPorts } from './forwarder.ts'
import { PREFIX, SETS, type SetRole } from './names.ts'

const PORTS: RedirectPorts = { pods: 41_001, others: 41_002 }
const TABLES = ['mangle', 'nat', 'filter'] as const

/** All rules of a family, as one would read them: `*table`, chains, and below each its rules. */
function textOf(given: NetfilterSettings, family: Family, ports: RedirectPorts = PORTS) {
  const base = baseRules(given, family, ports)
  const rules = [
    ...base.jumps.map(([table, chain, rule]) => ({ table, chain, rules: [rule] })),
    ...chainsOf(base),
  ]
  const lines = TABLES.flatMap((table) => [
    `*${table}`,
    ...rules
      .filter((each) => each.table === table)
      .flatMap((each) => each.rules.map((rule) => `${each.chain}: ${rule}`)),
  ])
  return lines.join('\n').replaceAll(PREFIX, '')
}

/** Built-in chains and ours; `ROUTE: …` is `-A NPUS-ROUTE …`. */
const IPV4 = `*mangle
PREROUTING: -j ROUTE
INPUT: -j INPUT
OUTPUT: -j OUTPUT
ROUTE: -m conntrack --ctdir ORIGINAL -m connmark --mark 0x2000/0x2000 -g DIVERT
ROUTE: -m conntrack --ctstate RELATED,ESTABLISHED,DNAT -j RETURN
ROUTE: -m set ! --match-set 4-SERVICES dst,dst -j RETURN
ROUTE: -g NEW
NEW: -m set --match-set 4-RANGED dst,dst -m set ! --match-set 4-ALLOWED dst,dst,src -m set --match-set 4-RANGED dst,dst -j DROP
NEW: -s 10.0.0.0/8 -m set --match-set 4-SHORTCUT dst,dst -g DIVERT
NEW: -s 10.0.0.0/8 -m set --match-set 4-DROP dst,dst -m set ! --match-set 4-SHORTCUT dst,dst -j DROP
NEW: ! -s 10.0.0.0/8 -m set --match-set 4-DROP dst,dst -j DROP
NEW: -s 10.0.0.0/8 -m set --match-set 4-REJECT dst,dst -m set ! --match-set 4-SHORTCUT dst,dst -j RETURN
NEW: ! -s 10.0.0.0/8 -m set --match-set 4-REJECT dst,dst -j RETURN
NEW: -g DIVERT
DIVERT: -j CONNMARK --set-xmark 0x2000/0x2000
DIVERT: -j MARK --set-xmark 0x2000/0x2000
HOLD: -m socket --nowildcard -j RETURN
HOLD: -j DROP
INPUT: -m mark --mark 0x2000/0x2000 -m conntrack --ctstate NEW -j HOLD
INPUT: -m mark --mark 0x2000/0x2000 -j MARK --set-xmark 0x0/0x2000
OUTPUT: -m mark --mark 0x40/0x40 -j RETURN
OUTPUT: -m conntrack --ctdir ORIGINAL -m connmark --mark 0x2000/0x2000 -g DIVERT
OUTPUT: -m conntrack --ctstate RELATED,ESTABLISHED,DNAT -j RETURN
OUTPUT: -m set ! --match-set 4-SERVICES dst,dst -j RETURN
OUTPUT: -m set --match-set 4-RANGED dst,dst -m set ! --match-set 4-ALLOWED dst,dst,src -m set --match-set 4-RANGED dst,dst -j DROP
OUTPUT: -m set --match-set 4-SHORTCUT dst,dst -g DIVERT
OUTPUT: -m set --match-set 4-DROP dst,dst -m set ! --match-set 4-SHORTCUT dst,dst -j DROP
OUTPUT: -m set --match-set 4-REJECT dst,dst -m set ! --match-set 4-SHORTCUT dst,dst -j RETURN
OUTPUT: -g DIVERT
*nat
PREROUTING: -m mark --mark 0x2000/0x2000 -j REDIRECT
OUTPUT: -m mark --mark 0x2000/0x2000 -j PODS
POSTROUTING: -j TAKEN
REDIRECT: -s 10.0.0.0/8 -g PODS
REDIRECT: -p tcp -j DNAT --to-destination :41002
REDIRECT: -p udp -j DNAT --to-destination :41002
PODS: -p tcp -j DNAT --to-destination :41001
PODS: -p udp -j DNAT --to-destination :41001
TAKEN: -m mark --mark 0x2000/0x2000 -j ACCEPT
*filter
INPUT: -m conntrack --ctstate NEW -j FILTER
OUTPUT: -m conntrack --ctstate NEW -j FILTER
FORWARD: -m conntrack --ctstate NEW -j FILTER
FILTER: -m set --match-set 4-ADMIT dst,dst -j ACCEPT
FILTER: -m conntrack --ctdir ORIGINAL -m connmark --mark 0x2000/0x2000 -j RETURN
FILTER: -m set ! --match-set 4-SERVICES dst,dst -j RETURN
FILTER: -s 10.0.0.0/8 -m set --match-set 4-SHORTCUT dst,dst -j DROP
FILTER: -m addrtype --src-type LOCAL -m set --match-set 4-SHORTCUT dst,dst -j DROP
FILTER: -p tcp -m set --match-set 4-REJECT dst,dst -j REJECT --reject-with tcp-reset
FILTER: -m set --match-set 4-REJECT dst,dst -j REJECT --reject-with icmp-port-unreachable
FILTER: -m mark --mark 0x40/0x40 -j RETURN
FILTER: -j DROP`

/** What is otherwise in IPv6. */
const IN_IPV6: readonly (readonly [string, string])[] = [
  [' 4-', ' 6-'],
  ['-s 10.0.0.0/8', '-s fd00:10::/64'],
  ['icmp-port-unreachable', 'icmp6-port-unreachable'],
]

test('the rules, however many Services there are', () => {
  expect(textOf(settings(), 4)).toBe(IPV4)
  const six = IN_IPV6.reduce((text, [four, other]) => text.replaceAll(four, other), IPV4)
  expect(textOf(settings(), 6)).toBe(six)
})

test('with another masquerade bit the rules are the same, and all marks others', () => {
  const moved = [
    ['0x2000', '0x2'],
    ['0x40/0x40', '0x200/0x200'],
  ] as const
  const text = textOf(settings({ masqueradeBit: 0 }), 4)
  expect(text).toBe(moved.reduce((all, [from, to]) => all.replaceAll(from, to), IPV4))
})

function difference(given: Partial<NetfilterSettings>) {
  const before = textOf(settings(), 4).split('\n')
  const after = textOf(settings(given), 4).split('\n')
  return {
    gone: before.filter((line) => !after.includes(line)),
    come: after.filter((line) => !before.includes(line)),
  }
}

const inSet = (role: SetRole) => `-m set --match-set 4-${role} dst,dst`
const NO_SHORT_CIRCUIT = '-m set ! --match-set 4-SHORTCUT dst,dst'
const FROM = '-s 10.0.0.0/8 '

/** In the order in which they stand in their chains. */
const ABOUT_PODS = [
  `NEW: ${FROM}${inSet('SHORTCUT')} -g DIVERT`,
  `NEW: ${FROM}${inSet('DROP')} ${NO_SHORT_CIRCUIT} -j DROP`,
  `NEW: ! ${FROM}${inSet('DROP')} -j DROP`,
  `NEW: ${FROM}${inSet('REJECT')} ${NO_SHORT_CIRCUIT} -j RETURN`,
  `NEW: ! ${FROM}${inSet('REJECT')} -j RETURN`,
  `REDIRECT: ${FROM}-g PODS`,
  `FILTER: ${FROM}${inSet('SHORTCUT')} -j DROP`,
]

test('where pods cannot be recognised, only the node is of their side', () => {
  const come = [`NEW: ${inSet('DROP')} -j DROP`, `NEW: ${inSet('REJECT')} -j RETURN`]
  const none = { gone: ABOUT_PODS, come }
  expect(difference({ localTraffic: { by: 'none' } })).toEqual(none)
  const ofIpv6 = { by: 'source', cidrs: [cidr('fd00:10::/64')] } as const
  expect(difference({ localTraffic: ofIpv6 })).toEqual(none)
})

test.each([
  [{ by: 'interfacePrefix', prefix: 'veth' } as const, '-i veth+ '],
  [{ by: 'bridge', name: 'cbr0' } as const, '-i cbr0 '],
])('pods known by %j', (localTraffic, match) => {
  const come = ABOUT_PODS.map((rule) => rule.replace(FROM, match))
  expect(difference({ localTraffic })).toEqual({ gone: ABOUT_PODS, come })
})

test('where every source is a pod no rule is for others', () => {
  const localTraffic = { by: 'source', cidrs: [cidr('0.0.0.0/0')] } as const
  const ofPods = ABOUT_PODS.filter((rule) => !rule.includes('! -s'))
  const come = ofPods.map((rule) => rule.replace(FROM, ''))
  expect(difference({ localTraffic })).toEqual({ gone: ABOUT_PODS, come })
})

test('where rules cannot match sockets, new connections are refused while no process listens', () => {
  const gone = [
    'HOLD: -m socket --nowildcard -j RETURN',
    'HOLD: -j DROP',
    'INPUT: -m mark --mark 0x2000/0x2000 -m conntrack --ctstate NEW -j HOLD',
  ]
  expect(difference({ matchesSockets: false })).toEqual({ gone, come: [] })
})

test('the guard of loopback is of IPv4', () => {
  const come = [
    'INPUT: -j MARTIANS',
    'MARTIANS: ! -s 127.0.0.0/8 -d 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP',
  ]
  expect(difference({ dropMartians: true })).toEqual({ gone: [], come })
  expect(textOf(settings({ dropMartians: true }), 6)).toBe(textOf(settings(), 6))
})

test.each([4, 6] as const)(
  'IPv%i: iptables takes every rule, every set is used',
  async (family) => {
    const sets = new FakeSets()
    const iptables = new FakeIptables({ sets, backend: 'legacy' })
    await sets.run(
      SETS[family].kept.map(({ name, type }) => ({ do: 'create', name, type }) as const),
    )
    for (const table of TABLES) {
      const own = chainsOf(baseRules(settings(), family, PORTS)).filter(
        (each) => each.table === table,
      )
      const text = [
        `*${table}`,
        ...own.map(({ chain }) => `:${chain} - [0:0]`),
        ...own.flatMap(({ chain, rules }) => rules.map((rule) => `-A ${chain} ${rule}`)),
        'COMMIT\n',
      ].join('\n')
      expect(await iptables.restore(family, text)).toMatchObject({ ok: true })
    }
    expect(SETS[family].kept.filter(({ name }) => !iptables.refersTo(name))).toEqual([])
  },
)

test('what no Service has in a Service range is refused', () => {
  const filter = textOf(settings({ serviceRanges: [cidr('fd00:96::/108')] }), 6).split('*filter')[1]
  const passing = '-m conntrack ! --ctstate DNAT -m addrtype ! --dst-type LOCAL'
  expect(filter?.split('\n').filter((line) => line.includes('RANGES'))).toEqual([
    'OUTPUT: -m conntrack --ctstate NEW -j RANGES',
    'FORWARD: -m conntrack --ctstate NEW -j RANGES',
    'RANGES: -j FILTER',
    `RANGES: -d fd00:96::/108 -p tcp ${passing} -j REJECT --reject-with tcp-reset`,
    `RANGES: -d fd00:96::/108 ${passing} -j REJECT --reject-with icmp6-port-unreachable`,
  ])
})
