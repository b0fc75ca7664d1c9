import fc from 'fast-check'
import { hashName } from '../../../lib/hash.ts'
import type { Cidr, IpAddress } from '../../../lib/ip.ts'
import type { Direction } from '../../../networkpolicy/network-policy.ts'
import {
  type ChainName,
  type ChainRule,
  memberKey,
  type PodChain,
  type PodVerdict,
  type PolicyChain,
  type PolicyContent,
  type PolicySet,
  type PortMatch,
  type SetName,
} from '../../policy-content.ts'
import type { Packet } from './judge-packet.ts'

const ip = (text: string) => text as IpAddress
/** Addresses of this node's range; not all are of known Pods. */
export const LOCAL = ['10.1.0.1', '10.1.0.2', '10.1.0.3', 'fd01::1', 'fd01::2'].map(ip)
const REMOTE = ['10.2.0.1', '10.2.0.2', '192.168.0.9', 'fd02::1'].map(ip)
const ALL = [...LOCAL, ...REMOTE]
const RANGES = ['10.1.0.0/24', 'fd01::/64'] as Cidr[]
const PORTS = [80, 81, 443] as const
const protocol = fc.constantFrom('TCP', 'UDP', 'SCTP')

const pods = (members: readonly IpAddress[]): PolicySet => ({
  kind: 'pods',
  members: new Set(members),
  comment: 'app=x in namespace "y"',
})
const blocks: readonly PolicySet[] = [
  {
    kind: 'blocks',
    ranges: [
      { first: ip('10.1.0.0'), last: ip('10.1.0.1') },
      { first: ip('10.1.0.3'), last: ip('10.2.0.1') },
    ],
  },
  { kind: 'blocks', ranges: [{ first: ip('0.0.0.0'), last: ip('255.255.255.255') }] },
  { kind: 'blocks', ranges: [{ first: ip('fd01::2'), last: ip('fd02::1') }] },
]
const someNamed: fc.Arbitrary<PolicySet> = fc
  .array(fc.record({ ip: fc.constantFrom(...ALL), protocol, port: fc.constantFrom(...PORTS) }))
  .map((all) => ({
    kind: 'namedPorts',
    members: new Map(all.map((one) => [memberKey(one), one])),
  }))

const someMatch: fc.Arbitrary<PortMatch> = fc.record({
  protocol,
  ports: fc.oneof(
    fc.constant('any' as const),
    fc.array(
      fc
        .tuple(fc.constantFrom(...PORTS), fc.constantFrom(...PORTS))
        .map(([a, b]) => ({ first: Math.min(a, b), last: Math.max(a, b) })),
      { minLength: 1, maxLength: 2 },
    ),
    fc.constantFrom('named-a', 'named-b').map((named) => ({ named: named as SetName })),
  ),
})
const setNames = ['pods-a', 'pods-b', 'pods-c', 'blocks-0', 'blocks-1', 'blocks-2']
const someRule: fc.Arbitrary<ChainRule> = fc.record({
  peers: fc.oneof(
    fc.constant('any' as const),
    fc.constantFrom(...setNames).map((name) => name as SetName),
  ),
  ports: fc.oneof(fc.constant('any' as const), fc.array(someMatch, { maxLength: 3 })),
})
const POLICIES = ['p', 'q', 'r'] as const

/** Which policies isolate each local address in each direction; undefined: no Pod has it. */
const someIsolation = fc.option(
  fc.record({
    ingress: fc.option(fc.subarray([...POLICIES], { minLength: 1 }), { nil: undefined }),
    egress: fc.option(fc.subarray([...POLICIES], { minLength: 1 }), { nil: undefined }),
  }),
  { nil: undefined },
)
const someRules = fc.record(
  Object.fromEntries(
    POLICIES.flatMap((name) => [`${name}-ingress`, `${name}-egress`]).map((name) => [
      name,
      fc.array(someRule, { maxLength: 2 }),
    ]),
  ),
)
const someMembers = fc.subarray([...ALL])

/** What policies may lead to: small, so that each part is met often. */
export const someContent: fc.Arbitrary<PolicyContent> = fc
  .record({
    members: fc.tuple(someMembers, someMembers, someMembers),
    named: fc.tuple(someNamed, someNamed),
    rules: someRules,
    isolation: fc.array(someIsolation, { minLength: LOCAL.length, maxLength: LOCAL.length }),
    localRanges: fc.subarray(RANGES),
  })
  .map(contentOf)

function contentOf(parts: {
  readonly members: readonly (readonly IpAddress[])[]
  readonly named: readonly PolicySet[]
  readonly rules: Readonly<Record<string, readonly ChainRule[]>>
  readonly isolation: readonly (Record<Direction, readonly string[] | undefined> | undefined)[]
  readonly localRanges: readonly Cidr[]
}): PolicyContent {
  const verdicts = { ingress: new Map(), egress: new Map() } as const
  const podChains = new Map<ChainName, PodChain>()
  const policyChains = new Map<ChainName, PolicyChain>()
  for (const [at, isolation] of parts.isolation.entries()) {
    if (isolation === undefined) continue
    for (const direction of ['ingress', 'egress'] as const) {
      const names = isolation[direction]?.map((name) => `${name}-${direction}` as ChainName)
      const chain = names && (`pod-${hashName(names.join(), 19)}` as ChainName)
      const verdict: PodVerdict = chain ?? 'accept'
      verdicts[direction].set(LOCAL[at]!, verdict)
      if (names && chain) podChains.set(chain, { direction, policies: names })
      for (const name of names ?? []) {
        const policy = `shop/${name}`
        policyChains.set(name, { direction, policy, rules: parts.rules[name] ?? [] })
      }
    }
  }
  const rules = [...policyChains.values()].flatMap((chain) => chain.rules)
  const used = new Set<string>()
  for (const { peers, ports } of rules) {
    used.add(peers)
    for (const { ports: named } of ports === 'any' ? [] : ports) {
      if (typeof named === 'object' && 'named' in named) used.add(named.named)
    }
  }
  const all: readonly (readonly [string, PolicySet])[] = [
    ...parts.members.map((members, at) => [`pods-${'abc'[at]}`, pods(members)] as const),
    ...blocks.map((set, at) => [`blocks-${at}`, set] as const),
    ...parts.named.map((set, at) => [`named-${'ab'[at]}`, set] as const),
  ]
  const sets = new Map(
    all.filter(([name]) => used.has(name)).map(([name, set]) => [name as SetName, set]),
  )
  return { sets, policyChains, podChains, pods: verdicts, localRanges: parts.localRanges }
}

export const somePacket: fc.Arbitrary<Packet> = fc
  .tuple(
    fc.constantFrom(...ALL),
    fc.nat(),
    fc.constantFrom('TCP', 'TCP', 'UDP', 'SCTP', 'ICMP'),
    fc.record({
      port: fc.constantFrom(...PORTS),
      isMiddle: fc.boolean(),
    }),
  )
  .map(([source, at, name, { port, isMiddle }]) => {
    const same = ALL.filter((one) => one.includes(':') === source.includes(':'))
    const packet = { source, destination: same[at % same.length]!, protocol: name, port } as const
    return name === 'TCP' && isMiddle ? { ...packet, isMiddle } : packet
  })
