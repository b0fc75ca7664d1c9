import type { Random } from '../../../src/lib/random.ts'
import type { Peer, Policy, PolicySet, PortRule, Rule, Selector } from './policy-set.ts'
import { NAMESPACES, PODS, PORTS, PROTOCOLS } from './universe.ts'

/** Policy sets that follow from a seed: zero to six policies, and labels that come and go. */
export function randomSets(seed: number, count: number): readonly PolicySet[] {
  const chance = new Chance(seed)
  return Array.from({ length: count }, (_, index) => ({
    name: `random set ${index} of seed ${seed}`,
    policies: Array.from({ length: 1 + chance.below(6) }, (_, serial) =>
      policy(chance, `p${serial}`),
    ),
    podLabels: Object.fromEntries(
      PODS.filter(() => chance.below(4) === 0).map(({ key }) => [
        key,
        chance.of([{ tier: 'even' }, { tier: 'odd' }, { role: 'client' }, { role: 'server' }]),
      ]),
    ),
    namespaceLabels: Object.fromEntries(
      Object.keys(NAMESPACES)
        .filter(() => chance.below(4) === 0)
        .map((name) => [name, chance.of([{ team: 'far' }, { team: 'near' }, { role: 'client' }])]),
    ),
  }))
}

/** Numbers that follow from a seed (SplitMix32). */
class Chance implements Pick<Random, 'below'> {
  #state: number

  constructor(seed: number) {
    this.#state = seed | 0
  }

  below(bound: number): number {
    this.#state = (this.#state + 0x9e3779b9) | 0
    let mixed = this.#state ^ (this.#state >>> 16)
    mixed = Math.imul(mixed, 0x21f0aaad)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
    return ((mixed ^ (mixed >>> 15)) >>> 0) % bound
  }

  of<T>(choices: readonly T[]): T {
    const chosen = choices[this.below(choices.length)]
    if (chosen === undefined) throw new Error('no choice')
    return chosen
  }

  list<T>(most: number, make: () => T): readonly T[] {
    return Array.from({ length: this.below(most + 1) }, make)
  }
}

function policy(chance: Chance, name: string): Policy {
  const kind = chance.below(4)
  const hasIngress = kind !== 1
  const hasEgress = kind !== 0
  return {
    metadata: { namespace: chance.of(Object.keys(NAMESPACES)), name },
    spec: {
      podSelector: chance.below(3) === 0 ? {} : selector(chance, POD_LABELS),
      ...(chance.below(5) > 0 && {
        policyTypes: [
          ...(hasIngress ? (['Ingress'] as const) : []),
          ...(hasEgress ? (['Egress'] as const) : []),
        ],
      }),
      ...(hasIngress && { ingress: chance.list(3, () => rule(chance, 'from')) }),
      ...(hasEgress && { egress: chance.list(3, () => rule(chance, 'to')) }),
    },
  }
}

function rule(chance: Chance, peers: 'from' | 'to'): Rule {
  return {
    ...(chance.below(4) > 0 && { [peers]: chance.list(3, () => peer(chance)) }),
    ...(chance.below(3) > 0 && { ports: chance.list(3, () => portRule(chance)) }),
  }
}

const POD_LABELS: Readonly<Record<string, readonly string[]>> = {
  pod: ['a', 'b', 'c', 'r'],
  tier: ['even', 'odd'],
  role: ['client', 'server'],
}
const NAMESPACE_LABELS: Readonly<Record<string, readonly string[]>> = {
  ns: ['x', 'y', 'z'],
  team: ['near', 'far'],
  role: ['client'],
}

function selector(chance: Chance, labels: Readonly<Record<string, readonly string[]>>): Selector {
  const key = chance.of(Object.keys(labels))
  const values = labels[key] ?? []
  const form = chance.below(7)
  if (form === 0) return {}
  if (form < 4) return { matchLabels: { [key]: chance.of(values) } }
  if (form === 4) {
    return { matchExpressions: [{ key, operator: chance.of(['Exists', 'DoesNotExist'] as const) }] }
  }
  const some = [...new Set([chance.of(values), chance.of(values)])]
  const expression = { key, operator: chance.of(['In', 'NotIn'] as const), values: some }
  if (form === 5) return { matchExpressions: [expression] }
  const other = chance.of(Object.keys(labels))
  return {
    matchLabels: { [other]: chance.of(labels[other] ?? []) },
    matchExpressions: [expression],
  }
}

const BLOCKS: readonly (readonly [cidr: string, except: readonly string[]])[] = [
  ['0.0.0.0/0', ['10.180.0.0/27', '10.180.0.12/32', '10.181.0.0/24', '10.180.0.32/28']],
  ['10.180.0.0/24', ['10.180.0.12/32', '10.180.0.8/29', '10.180.0.16/28', '10.180.0.43/32']],
  ['10.180.0.11/32', []],
  ['10.180.0.24/29', ['10.180.0.27/32']],
  ['10.181.0.0/16', ['10.181.0.12/31']],
  ['192.168.0.0/16', []],
  ['::/0', ['fd00:10:180::/64', 'fd00:10:180::12/128', 'fd00:10:181::/64']],
  ['fd00:10:180::/64', ['fd00:10:180::10/124', 'fd00:10:180::27/128', 'fd00:10:180::40/122']],
  ['fd00:10:180::11/128', []],
  ['fd00:10:181::/64', ['fd00:10:181::12/127']],
]

function peer(chance: Chance): Peer {
  const form = chance.below(8)
  if (form < 3) return { podSelector: selector(chance, POD_LABELS) }
  if (form < 5) return { namespaceSelector: selector(chance, NAMESPACE_LABELS) }
  if (form < 7) {
    return {
      namespaceSelector: selector(chance, NAMESPACE_LABELS),
      podSelector: selector(chance, POD_LABELS),
    }
  }
  const [cidr, except] = chance.of(BLOCKS)
  const some = except.filter(() => chance.below(2) === 0)
  return { ipBlock: { cidr, ...(some.length > 0 && { except: some }) } }
}

function portRule(chance: Chance): PortRule {
  const protocol = chance.of(PROTOCOLS)
  const form = chance.below(8)
  if (form === 0) return { protocol }
  if (form === 1) return { port: chance.of(PORTS) }
  if (form < 4) return { protocol, port: chance.of(PORTS) }
  if (form === 4) return { protocol, port: chance.of(['web', 'dns', 'absent']) }
  if (form === 5) {
    return { protocol, port: `serve-${chance.of(PORTS)}-${protocol.toLowerCase()}` }
  }
  const port = 78 + chance.below(5)
  return { protocol, port, endPort: port + chance.below(5) }
}
