import fc from 'fast-check'
import { hashName } from '../../../lib/hash.ts'
import type { Cidr, IpAddress } from '../../../lib/ip.ts'
import type { Direction } from '../../../networkpolicy/network-policy.ts'
import {
  type ChainName,
  type ChainRule,
  type DenyChain,
  memberKey,
  type PodChain,
  type PodVerdict,
  type PolicyChain,
  type PolicyContent,
  type PolicySet,
  type PortMatch,
  type SetName,
  type TierChain,
  type TierRule,
} from '../../policy-content.ts'
import type { Packet } from './judge-packet.ts'

const ip = (text: string) => text as IpAddress
/** Addresses of this node's range; not all are of known Pods. */
export const LOCAL = ['10.1.0.1', '10.1.0.2', '10.1.0.3', 'fd01::1', 'fd01::2'].map(ip)
const REMOTE = ['10.2.0.1', '10.2.0.2', '192.168.0.9', 'fd02::1'].map(ip)
const ALL = [...LOCAL, ...REMOTE]
const RANGES = ['10.1.0.0/24', 'fd01::/64'] as Cidr[]
const PORTS = [80, 81, 83, 443] as const
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
/** Lists of policies of tiers; each has a chain in each direction. */
const TIERS = { Admin: ['a', 'b'], Baseline: ['c'] } as const
const someTierRule = fc.tuple(someRule, fc.constantFrom('accept', 'pass', 'x', 'y'))
const someTierRules = fc.record(
  Object.fromEntries(
    [...TIERS.Admin, ...TIERS.Baseline]
      .flatMap((list) => [`${list}-ingress`, `${list}-egress`])
      .map((name) => [name, fc.array(someTierRule, { maxLength: 3 })]),
  ),
)
const someOfPod = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.record({
      policies: fc.subarray([...POLICIES]),
      admin: fc.constantFrom(undefined, ...TIERS.Admin),
      baseline: fc.constantFrom(undefined, ...TIERS.Baseline),
    }),
  },
  { weight: 1, arbitrary: fc.constant('drop' as const) },
  { weight: 3, arbitrary: fc.constant('accept' as const) },
)
type OfPod = typeof someOfPod extends fc.Arbitrary<infer T> ? T : never

/** Which policies are about each local address in each direction; undefined: no Pod has it. */
const someIsolation = fc.option(fc.record({ ingress: someOfPod, egress: someOfPod }), {
  nil: undefined,
})
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
    tierRules: someTierRules,
    isolation: fc.array(someIsolation, { minLength: LOCAL.length, maxLength: LOCAL.length }),
    localRanges: fc.subarray(RANGES),
  })
  .map(contentOf)

function contentOf(parts: {
  readonly members: readonly (readonly IpAddress[])[]
  readonly named: readonly PolicySet[]
  readonly rules: Readonly<Record<string, readonly ChainRule[]>>
  readonly tierRules: Readonly<Record<string, readonly (readonly [ChainRule, string])[]>>
  readonly isolation: readonly (Record<Direction, OfPod> | undefined)[]
  readonly localRanges: readonly Cidr[]
}): PolicyContent {
  const verdicts = { ingress: new Map(), egress: new Map() } as const
  const chains = {
    podChains: new Map<ChainName, PodChain>(),
    policyChains: new Map<ChainName, PolicyChain>(),
    tierChains: new Map<ChainName, TierChain>(),
    denyChains: new Map<ChainName, DenyChain>(),
  }
  for (const [at, isolation] of parts.isolation.entries()) {
    if (isolation === undefined) continue
    for (const direction of ['ingress', 'egress'] as const) {
      const verdict = verdictOf(isolation[direction], direction, { ...parts, ...chains })
      verdicts[direction].set(LOCAL[at]!, verdict)
    }
  }
  const rules = [...chains.policyChains.values(), ...chains.tierChains.values()].flatMap(
    (chain): readonly ChainRule[] => chain.rules,
  )
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
  return { sets, ...chains, pods: verdicts, localRanges: parts.localRanges }
}

interface Chains {
  readonly rules: Readonly<Record<string, readonly ChainRule[]>>
  readonly tierRules: Readonly<Record<string, readonly (readonly [ChainRule, string])[]>>
  readonly podChains: Map<ChainName, PodChain>
  readonly policyChains: Map<ChainName, PolicyChain>
  readonly tierChains: Map<ChainName, TierChain>
  readonly denyChains: Map<ChainName, DenyChain>
}

/** The verdict of a Pod; adds the chains that it needs. */
function verdictOf(ofPod: OfPod, direction: Direction, chains: Chains): PodVerdict {
  if (ofPod === 'drop' || ofPod === 'accept') return ofPod
  const policies = ofPod.policies.map((name) => `${name}-${direction}` as ChainName)
  for (const name of policies) {
    const rules = chains.rules[name] ?? []
    chains.policyChains.set(name, { direction, policy: `shop/${name}`, rules })
  }
  const tierOf = (list: string | undefined): ChainName | undefined => {
    if (list === undefined) return undefined
    const name = `${list}-${direction}` as ChainName
    const rules = (chains.tierRules[name] ?? []).map(([one, action]): TierRule => {
      const comment = 'cluster'
      if (action === 'accept' || action === 'pass') return { ...one, action, comment }
      const deny = `deny-${action}-${direction}` as ChainName
      chains.denyChains.set(deny, { direction, policy: action })
      return { ...one, action: { deny }, comment }
    })
    const tier = list === 'c' ? 'Baseline' : 'Admin'
    chains.tierChains.set(name, { direction, tier, policies: [list], rules })
    return name
  }
  const admin = tierOf(ofPod.admin)
  const baseline = policies.length > 0 ? undefined : tierOf(ofPod.baseline)
  const named = [admin, ...policies, baseline].filter((one) => one !== undefined)
  if (named.length === 0) return 'accept'
  const name = `pod-${hashName(named.join(), 19)}` as ChainName
  chains.podChains.set(name, { direction, admin, policies, baseline })
  return name
}

export const somePacket: fc.Arbitrary<Packet> = fc
  .tuple(
    fc.constantFrom(...ALL),
    fc.nat(),
    fc.constantFrom('TCP', 'TCP', 'UDP', 'SCTP', 'ICMP'),
    fc.record({
      port: fc.constantFrom(0, ...PORTS, 82, 65_535),
      isMiddle: fc.boolean(),
      isTracked: fc.constantFrom(
        ...(['established', 'related'] as const),
        ...Array<false>(18).fill(false),
      ),
      way: fc.constantFrom(...(['forward', 'forward', 'forward', 'output', 'node'] as const)),
    }),
  )
  .map(([source, at, name, { port, isMiddle, isTracked, way }]): Packet => {
    const same = ALL.filter((one) => one.includes(':') === source.includes(':'))
    const ends = { source, destination: same[at % same.length]! }
    const packet = { ...ends, protocol: name, port, way, ...(isTracked && { isTracked }) }
    return name === 'TCP' && isMiddle ? { ...packet, isMiddle } : packet
  })
