import type { IpAddress } from '../../lib/ip.ts'
import {
  memberOf,
  type PolicyContent,
  type PolicySet,
  type SetName,
} from '../../policy/policy-content.ts'
import { type RefusingContent, refusalIn } from '../../policy/refusal.ts'
import type { DesiredState } from './desired-state.ts'

/** One JSON array per line: a part of what is enforced of NetworkPolicies, its name, and its value. */
export const POLICIES_DOCUMENT = 'policies.jsonl'

const CHAINS = ['policyChains', 'tierChains', 'denyChains', 'podChains'] as const
const DIRECTIONS = ['ingress', 'egress'] as const

/** A set without what only a running node-proxy knows of it. */
type SetLine =
  | Extract<PolicySet, { readonly kind: 'blocks' }>
  | { readonly kind: 'pods' | 'namedPorts'; readonly members: readonly string[] }

/** The lines of that document, made as they are taken. */
export function* policyLines(content: PolicyContent): Iterable<string> {
  const line = (part: string, name: string, value: unknown) =>
    `${JSON.stringify([part, name, value])}\n`
  for (const [name, set] of content.sets) yield line('sets', name, setLine(set))
  for (const part of CHAINS) {
    for (const [name, chain] of content[part]) yield line(part, name, chain)
  }
  for (const direction of DIRECTIONS) {
    for (const [ip, verdict] of content.pods[direction]) yield line(direction, ip, verdict)
  }
}

/** Who refuses connections, as that document says. Throws a SyntaxError or TypeError where it is not such a document. */
export function parsePolicies(text: string): NonNullable<DesiredState['refusalOf']> {
  const parts = new Map<string, Map<never, never>>()
  for (const line of text.split('\n').filter((one) => one !== '')) {
    const [part, name, value] = JSON.parse(line) as [string, never, never]
    parts.getOrInsertComputed(part, () => new Map<never, never>()).set(name, value)
  }
  const of = (part: string): ReadonlyMap<never, never> => parts.get(part) ?? new Map<never, never>()
  const sets: ReadonlyMap<SetName, SetLine> = of('sets')
  const content: RefusingContent = {
    sets: new Map([...sets].map(([name, set]) => [name, setOf(set)])),
    policyChains: of('policyChains'),
    tierChains: of('tierChains'),
    denyChains: of('denyChains'),
    podChains: of('podChains'),
    pods: { ingress: of('ingress'), egress: of('egress') },
  }
  return (flow) => refusalIn(content, flow)
}

function setLine(set: PolicySet): SetLine {
  const { kind } = set
  return kind === 'blocks'
    ? { kind, ranges: set.ranges }
    : { kind, members: [...set.members.keys()] }
}

function setOf(set: SetLine): PolicySet {
  if (set.kind === 'blocks') return set
  const { kind, members } = set
  return kind === 'pods'
    ? { kind, members: new Set(members as readonly IpAddress[]), comment: '' }
    : { kind, members: new Map(members.map((key) => [key, memberOf(key)])) }
}
