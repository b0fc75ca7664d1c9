import type { IpAddress } from '../../lib/ip.ts'
import {
  memberOf,
  type PolicyContent,
  type PolicySet,
  type SetName,
} from '../../policy/policy-content.ts'
import { type RefusingContent, refusalIn } from '../../policy/refusal.ts'
import type { DesiredState } from './desired-state.ts'

/**
 * One JSON array per line: a kind (`sets`, `policyChains`, …, `ingress`, `egress`), the name of one object of it (for
 * `ingress` and `egress` the address of a Pod), and its value.
 */
export const POLICIES_DOCUMENT = 'policies.jsonl'

const CHAINS = ['policyChains', 'tierChains', 'denyChains', 'podChains'] as const
const DIRECTIONS = ['ingress', 'egress'] as const

/** A set as a line has it: without the comment, and of `namedPorts` only the keys. */
type SetLine =
  | Extract<PolicySet, { readonly kind: 'blocks' }>
  | { readonly kind: 'pods' | 'namedPorts'; readonly members: readonly string[] }

/** The lines of POLICIES_DOCUMENT; each is made when it is taken. */
export function* policyLines(content: PolicyContent): Iterable<string> {
  const line = (kind: string, name: string, value: unknown) =>
    `${JSON.stringify([kind, name, value])}\n`
  for (const [name, set] of content.sets) yield line('sets', name, setLine(set))
  for (const kind of CHAINS) {
    for (const [name, chain] of content[kind]) yield line(kind, name, chain)
  }
  for (const direction of DIRECTIONS) {
    for (const [ip, verdict] of content.pods[direction]) yield line(direction, ip, verdict)
  }
}

/**
 * Reads POLICIES_DOCUMENT; returns a function that finds what refuses a connection. Throws a SyntaxError or TypeError
 * for lines that are not JSON arrays; what the arrays contain is trusted.
 */
export function parsePolicies(text: string): NonNullable<DesiredState['refusalOf']> {
  const byKind = new Map<string, Map<never, never>>()
  for (const line of text.split('\n').filter((one) => one !== '')) {
    const [kind, name, value] = JSON.parse(line) as [string, never, never]
    byKind.getOrInsertComputed(kind, () => new Map<never, never>()).set(name, value)
  }
  const of = (kind: string): ReadonlyMap<never, never> =>
    byKind.get(kind) ?? new Map<never, never>()
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
