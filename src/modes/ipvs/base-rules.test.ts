import { expect, test } from 'vitest'
import { ipvsSettings } from '../../../test/support/modes/fake-ipvs-node.ts'
import type { EntryId } from '../../forwarding/entry.ts'
import { FakeSets } from '../../kernel/ipset/testing/fake-sets.ts'
import { FakeIptables } from '../../kernel/iptables/testing/fake-iptables.ts'
import type { Family } from '../../lib/ip.ts'
import { chainsOf } from '../netfilter/chains/base-rules.ts'
import { isHairpinOffLoopback } from '../netfilter/postrouting.ts'
import type { NetfilterSettings } from '../netfilter/settings/settings.ts'
import { cidr, entry, frontend, ip, settings } from '../testing/mode-fixtures.ts'
import { baseRules } from './base-rules.ts'
import { CHAIN, PREFIX, SETS } from './objects/names.ts'
import { IpvsProgram } from './program.ts'

/** All rules of a family, as one would read them: `*table`, chains, and below each its rules. */
function textOf(given: NetfilterSettings, family: Family): string {
  const bpf = isHairpinOffLoopback(family).trim()
  const base = baseRules(given, family)
  const rules = [
    ...base.jumps.map(([table, chain, rule]) => ({ table, chain, rules: [rule] })),
    ...chainsOf(base),
  ]
  const lines = (['mangle', 'nat', 'filter'] as const).flatMap((table) => [
    `*${table}`,
    ...rules
      .filter((each) => each.table === table)
      .flatMap((each) => each.rules.map((rule) => `${each.chain}: ${rule}`)),
  ])
  return lines.join('\n').replaceAll(bpf, '<to itself>').replaceAll(PREFIX, '')
}

/** Built-in chains and ours; `ROUTE: …` is `-A NPVS-ROUTE …`. */
const IPV4 = `*mangle
PREROUTING: -j ROUTE
INPUT: -j INPUT
OUTPUT: -j OUTPUT
ROUTE: -p icmp -m conntrack --ctstate RELATED -m set --match-set 4-VIPS dst -g TAKE
ROUTE: -m conntrack ! --ctstate NEW -m set --match-set 4-LEAVING dst,dst -g TAKE
ROUTE: -m set ! --match-set 4-SERVICES dst,dst -j RETURN
ROUTE: -m conntrack --ctstate NEW -g NEW
ROUTE: -g TAKE
NEW: -m set --match-set 4-PAUSED dst,dst -j DROP
NEW: -m set --match-set 4-RANGED dst,dst -m set ! --match-set 4-ALLOWED dst,dst,src -m set --match-set 4-RANGED dst,dst -j DROP
NEW: -s 10.0.0.0/8 -m set --match-set 4-SHORTCUT dst,dst -g TAKE
NEW: -s 10.0.0.0/8 -m set --match-set 4-DROP dst,dst -m set ! --match-set 4-SHORTCUT dst,dst -j DROP
NEW: ! -s 10.0.0.0/8 -m set --match-set 4-DROP dst,dst -j DROP
NEW: -m set --match-set 4-REJECT dst,dst -j RETURN
NEW: -g TAKE
TAKE: -m conntrack --ctstate SNAT --ctdir REPLY -j RETURN
TAKE: -m conntrack ! --ctstate DNAT -j MARK --set-xmark 0x2000/0x2000
INPUT: -m mark --mark 0x2000/0x2000 -j MARK --set-xmark 0x0/0x2000
INPUT: -s 10.0.0.0/8 -m conntrack --ctstate NEW -m set --match-set 4-SHORTCUT dst,dst -j SET --map-set 4-SHORTCUT dst,dst --map-mark
OUTPUT: -m mark --mark 0x10a5/0x70ff -m addrtype --src-type LOCAL -j MARK --set-xmark 0x4000/0xffffffff
OUTPUT: -m mark --mark 0x10a5/0x70ff -j MARK --set-xmark 0x0/0xffffffff
OUTPUT: -m set ! --match-set 4-SERVICES dst,dst -j RETURN
OUTPUT: -m conntrack ! --ctstate NEW -j RETURN
OUTPUT: -m set --match-set 4-PAUSED dst,dst -j DROP
OUTPUT: -m set --match-set 4-RANGED dst,dst -m set ! --match-set 4-ALLOWED dst,dst,src -m set --match-set 4-RANGED dst,dst -j DROP
OUTPUT: -m set --match-set 4-DROP dst,dst -m set ! --match-set 4-SHORTCUT dst,dst -m set --match-set 4-DROP dst,dst -j DROP
OUTPUT: -m set --match-set 4-SHORTCUT dst,dst -j SET --map-set 4-SHORTCUT dst,dst --map-mark
*nat
PREROUTING: -j MASQ
OUTPUT: -j MASQ
POSTROUTING: -j POSTROUTING
MASQ: -m mark --mark 0x10a5/0x70ff -j ACCEPT
MASQ: -m set --match-set 4-MASQUERADE dst,dst -j MARK --set-xmark 0x4000/0x4000
MASQ: -m set --match-set 4-ONNODE dst,dst -m addrtype --src-type LOCAL -j MARK --set-xmark 0x4000/0x4000
MASQ: -m set ! --match-set 4-SERVICES dst,dst -j RETURN
MASQ: ! -s 10.0.0.0/8 -m set ! --match-set 4-MASQUERADE dst,dst -m set ! --match-set 4-ONNODE dst,dst -j MARK --set-xmark 0x4000/0x4000
MASQ: -m mark --mark 0x2000/0x2000 -j ACCEPT
MASQ: -m set ! --match-set 4-REJECT dst,dst -m addrtype --src-type LOCAL -j ACCEPT
POSTROUTING: <to itself> -j MASQUERADE --random-fully
POSTROUTING: -m mark ! --mark 0x4000/0x4000 -j RETURN
POSTROUTING: -j MARK --set-xmark 0x4000/0x0
POSTROUTING: -j MASQUERADE --random-fully
*filter
INPUT: -m conntrack --ctstate NEW -j FILTER
OUTPUT: -m conntrack --ctstate NEW -j FILTER
FORWARD: -m conntrack --ctstate NEW -j FILTER
FORWARD: -j FORWARD
FILTER: -m set --match-set 4-ADMIT dst,dst -j ACCEPT
FILTER: -p tcp -m tcp ! --tcp-flags FIN,SYN,RST,ACK SYN -m set --match-set 4-SERVICES dst,dst -j REJECT --reject-with tcp-reset
FILTER: -m set ! --match-set 4-REJECT dst,dst -m set ! --match-set 4-LEAVING dst,dst -j RETURN
FILTER: -m set ! --match-set 4-REJECT dst,dst -m set --match-set 4-SERVICES dst,dst -j RETURN
FILTER: -p tcp -j REJECT --reject-with tcp-reset
FILTER: -j REJECT --reject-with icmp-port-unreachable
FORWARD: -m conntrack --ctstate INVALID -j DROP
FORWARD: -m mark --mark 0x4000/0x4000 -j ACCEPT
FORWARD: -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT`

/** What is otherwise in IPv6. */
const IN_IPV6: readonly (readonly [string, string])[] = [
  [' 4-', ' 6-'],
  ['-p icmp ', '-p ipv6-icmp '],
  ['-s 10.0.0.0/8', '-s fd00:10::/64'],
  ['icmp-port-unreachable', 'icmp6-port-unreachable'],
]

test('the rules, however many Services there are', () => {
  expect(textOf(settings(), 4)).toBe(IPV4)
  const six = IN_IPV6.reduce((text, [four, other]) => text.replaceAll(four, other), IPV4)
  expect(textOf(settings(), 6)).toBe(six)
})

function difference(given: Partial<NetfilterSettings>, family: Family = 4) {
  const [before, after] = [settings(), settings(given)].map((each) =>
    textOf(each, family).split('\n'),
  )
  return {
    gone: before?.filter((line) => !after?.includes(line)),
    come: after?.filter((line) => !before?.includes(line)),
  }
}

test('with another masquerade bit the rules are the same, and all marks others', () => {
  const text = textOf(settings({ masqueradeBit: 0 }), 4)
  const moved = [
    ['0x10a5/0x70ff', '0x52c/0x7ff'],
    ['0x2000', '0x2'],
    ['0x4000', '0x1'],
  ] as const
  expect(text).toBe(moved.reduce((all, [from, to]) => all.replaceAll(from, to), IPV4))
})

const PLAIN =
  '-m set ! --match-set 4-MASQUERADE dst,dst -m set ! --match-set 4-ONNODE dst,dst -j MARK --set-xmark 0x4000/0x4000'
const MAP =
  '-m conntrack --ctstate NEW -m set --match-set 4-SHORTCUT dst,dst -j SET --map-set 4-SHORTCUT dst,dst --map-mark'
/** Rules that match packets of pods. */
const ABOUT_PODS = [
  'NEW: -s 10.0.0.0/8 -m set --match-set 4-SHORTCUT dst,dst -g TAKE',
  'NEW: -s 10.0.0.0/8 -m set --match-set 4-DROP dst,dst -m set ! --match-set 4-SHORTCUT dst,dst -j DROP',
  'NEW: ! -s 10.0.0.0/8 -m set --match-set 4-DROP dst,dst -j DROP',
  `INPUT: -s 10.0.0.0/8 ${MAP}`,
  `MASQ: ! -s 10.0.0.0/8 ${PLAIN}`,
]

test('masqueradeAll takes in pods that talk to a ClusterIP', () => {
  expect(difference({ masqueradeAll: true })).toEqual({
    gone: ABOUT_PODS.slice(4),
    come: [`MASQ: ${PLAIN}`],
  })
})

test('where no rule recognises pods, only the node takes the short circuit', () => {
  const none = { gone: ABOUT_PODS, come: ['NEW: -m set --match-set 4-DROP dst,dst -j DROP'] }
  expect(difference({ localTraffic: { by: 'none' } })).toEqual(none)
  const ofIpv6 = { by: 'source', cidrs: [cidr('fd00:10::/64')] } as const
  expect(difference({ localTraffic: ofIpv6 })).toEqual(none)
})

test('where every source is a pod no packet is masqueraded for coming from elsewhere', () => {
  const all = { by: 'source', cidrs: [cidr('0.0.0.0/0')] } as const
  const come = ABOUT_PODS.filter((rule) => !rule.includes('! -s')).map((rule) =>
    rule.replace('-s 10.0.0.0/8 ', ''),
  )
  expect(difference({ localTraffic: all })).toEqual({ gone: ABOUT_PODS, come })
})

test('pods known by their interface', () => {
  const come = ABOUT_PODS.map((rule) => rule.replace('-s 10.0.0.0/8', '-i veth+'))
  expect(difference({ localTraffic: { by: 'interfacePrefix', prefix: 'veth' } })).toEqual({
    gone: ABOUT_PODS,
    come,
  })
})

test('the guard of loopback is of IPv4', () => {
  const foreign = '! -s 127.0.0.0/8 -d 127.0.0.0/8'
  const come = [
    'INPUT: -j MARTIANS',
    `MARTIANS: ${foreign} -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP`,
  ]
  expect(difference({ dropMartians: true })).toEqual({ gone: [], come })
  expect(difference({ dropMartians: true }, 6)).toEqual({ gone: [], come: [] })
})

test.each([4, 6] as const)(
  'IPv%i: iptables takes every rule, and finds every set and chain',
  async (family) => {
    const sets = new FakeSets()
    const iptables = new FakeIptables({ sets, backend: 'legacy' })
    const create = SETS[family].kept.map(({ name, type }) => {
      return { do: 'create', name, type } as const
    })
    expect(await sets.run(create)).toEqual([])
    const given = settings({ dropMartians: true })
    for (const table of ['nat', 'filter', 'mangle'] as const) {
      const own = chainsOf(baseRules(given, family)).filter((each) => each.table === table)
      const text = [
        `*${table}`,
        ...own.map(({ chain }) => `:${chain} - [0:0]`),
        ...own.flatMap(({ chain, rules }) => rules.map((rule) => `-A ${chain} ${rule}`)),
        ...baseRules(given, family)
          .jumps.filter(([of]) => of === table)
          .map(([, chain, rule]) => `-A ${chain} ${rule}`),
        'COMMIT\n',
      ].join('\n')
      expect(await iptables.restore(family, text)).toMatchObject({ ok: true })
    }
    for (const { name } of SETS[family].kept) {
      expect([name, iptables.refersTo(name)]).toEqual([name, true])
    }
  },
)

test('every chain is led to, and no name is too long', () => {
  const known = settings({ dropMartians: true, serviceRanges: [cidr('10.96.0.0/12')] })
  const text = `${textOf(known, 4)}\n`
  for (const chain of Object.values(CHAIN)) {
    expect(text).toMatch(new RegExp(`-[jg] ${chain.slice(PREFIX.length)}\n`))
    expect(chain.length).toBeLessThan(29)
  }
})

test('Services change no rule', () => {
  const rulesIn = (count: number) => {
    const program = new IpvsProgram(ipvsSettings())
    for (let n = 0; n < count; n++) {
      const frontends = [frontend({ ip: ip(`172.30.${n >> 8}.${n & 255}`) })]
      program.replace(`s${n}` as EntryId, entry({ id: `s${n}` as EntryId, frontends }))
    }
    const keys = [...program.takeChanges().keys()]
    return keys.filter((key) => /^[46]\//.test(key)).map((key) => [key, program.rulesOf(key)])
  }
  expect(rulesIn(0)).not.toEqual([])
  expect(rulesIn(300)).toEqual(rulesIn(0))
})

test('what no Service has in a Service range is refused; virtual servers take the rest', () => {
  const filter = textOf(settings({ serviceRanges: [cidr('10.96.0.0/12')] }), 4).split('*filter')[1]
  const passing =
    '-m conntrack ! --ctstate DNAT -m addrtype ! --dst-type LOCAL -m set ! --match-set 4-SERVICES dst,dst'
  expect(filter?.split('\n').filter((line) => line.includes('RANGES'))).toEqual([
    'OUTPUT: -m conntrack --ctstate NEW -j RANGES',
    'FORWARD: -m conntrack --ctstate NEW -j RANGES',
    'RANGES: -j FILTER',
    `RANGES: -d 10.96.0.0/12 -p tcp ${passing} -j REJECT --reject-with tcp-reset`,
    `RANGES: -d 10.96.0.0/12 ${passing} -j REJECT --reject-with icmp-port-unreachable`,
  ])
})
