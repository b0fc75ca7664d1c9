import type {
  ChainSpec,
  Element,
  Hook,
  Rule,
  SetSpec,
  Table,
} from '../../kernel/nftables/objects.ts'
import type { PlacedElement } from '../../kernel/nftables/rules/digest.ts'
import { address, disjoint, port, protocol } from '../../kernel/nftables/rules/encode.ts'
import {
  destinationAddress,
  type Field,
  sourceAddress,
} from '../../kernel/nftables/rules/fields.ts'
import {
  FROM_NODE,
  hasState,
  IS_MIDDLE_OF_TCP,
  STATE,
} from '../../kernel/nftables/rules/matches.ts'
import {
  commentOf,
  exceeds,
  isIn,
  reject,
  rule,
  verdict,
  verdictOf,
} from '../../kernel/nftables/rules/statements.ts'
import { type Family, familyOf, type IpAddress } from '../../lib/ip.ts'
import type { Direction } from '../../networkpolicy/network-policy.ts'
import type {
  ChainName,
  NamedPortMember,
  PolicyContent,
  PolicySet,
  SetName,
} from '../policy-content.ts'
import { ChainRules, dropRules, LOG_LIMIT } from './chain-rules.ts'
import { type PortRanges, portSetsOf, renderPorts } from './port-ranges.ts'

/** One table in each IP family; everything in it is ours. */
export const TABLE = 'node-proxy-policies'

export function tableOf(family: Family): Table {
  return { family, name: TABLE }
}

/** The two directions, in the order in which a packet meets them. */
export const DIRECTIONS = ['egress', 'ingress'] as const satisfies readonly Direction[]

/** Sets and maps that the table always has, and `localRanges`, which it has only where unknown Pods are denied. */
export const SET = {
  egress: 'egress-pods',
  ingress: 'ingress-pods',
  hairpin: 'hairpin',
  localRanges: 'local-ranges',
} as const

/** Chains that the table always has; the first four are called by the kernel. */
export const CHAIN = {
  egress: 'egress',
  ingress: 'ingress',
  egressOutput: 'egress-output',
  ingressOutput: 'ingress-output',
  fromBeginning: 'from-beginning',
} as const

const BASE_NAMES: ReadonlySet<string> = new Set([...Object.values(SET), ...Object.values(CHAIN)])

/** Whether the object is one that every table has: without it nothing is enforced. */
export function isBaseObject(name: string): boolean {
  return BASE_NAMES.has(name)
}

/** What is not decided by policies. */
export interface RenderSettings {
  /** What happens to new connections of an address of this node's ranges that no known Pod has. */
  readonly unknownPods: 'allow' | 'deny'
  /** The most packets that are sent to the log in a second, by each family; 0: there is no log. */
  readonly logDeniedPerSecond: number
}

/** A set that the table should hold. */
export interface WantedSet {
  readonly spec: SetSpec
  elements(): Iterable<Element>
}

/** A chain that the table should hold. */
export interface WantedChain {
  readonly spec: ChainSpec
  readonly rules: readonly Rule[]
}

/** What a table is rendered from. */
export interface WantedOptions {
  readonly family: Family
  readonly content: PolicyContent
  readonly settings: RenderSettings
  /**
   * Sets and chains that the kernel refuses. Rules that need such a set are left out, and so are jumps to such a chain; a
   * Pod whose chain, or chain of a tier, is refused is dropped; a rule of Deny or Pass that needs such a set denies
   * everything. So less is admitted than the policies say, never more.
   */
  readonly excluded: ReadonlySet<string>
}

/** The table of one family that follows from policies: a view, which renders what it is asked for. */
export class WantedTable {
  readonly #family: Family
  readonly #content: PolicyContent
  readonly #settings: RenderSettings
  readonly #excluded: ReadonlySet<string>
  readonly #isLogged: boolean
  readonly #rules: ChainRules
  #portSets: ReadonlyMap<string, PortRanges> | undefined

  constructor({ family, content, settings, excluded }: WantedOptions) {
    this.#family = family
    this.#content = content
    this.#settings = settings
    this.#excluded = excluded
    this.#isLogged = settings.logDeniedPerSecond > 0 && !excluded.has(LOG_LIMIT)
    const isLogged = this.#isLogged
    this.#rules = new ChainRules({ family, content, excluded, hairpin: SET.hairpin, isLogged })
  }

  get family(): Family {
    return this.#family
  }

  /** Names of all sets. */
  *sets(): Generator<string> {
    yield* [SET.egress, SET.ingress, SET.hairpin]
    if (this.#settings.unknownPods === 'deny') yield SET.localRanges
    for (const name of this.portSets()) yield name
    for (const name of this.#content.sets.keys()) if (!this.#excluded.has(name)) yield name
  }

  /** Names of the sets of port ranges: they belong to rules, and the policies do not name them. */
  *portSets(): Generator<string> {
    for (const name of this.#allPortSets().keys()) if (!this.#excluded.has(name)) yield name
  }

  /** Names of all chains: those that others lead to first. */
  *chains(): Generator<string> {
    const { denyChains, tierChains, policyChains, podChains } = this.#content
    if (this.#isLogged) yield LOG_LIMIT
    for (const chains of [denyChains, tierChains, policyChains, podChains]) {
      for (const name of chains.keys()) if (!this.#excluded.has(name)) yield name
    }
    yield CHAIN.fromBeginning
    yield* [CHAIN.egress, CHAIN.ingress, CHAIN.egressOutput, CHAIN.ingressOutput]
  }

  /** Undefined if the table should not hold it. */
  set(name: string): WantedSet | undefined {
    if (this.#excluded.has(name)) return undefined
    const family = this.#family
    const ip = addressType(family)
    switch (name) {
      case SET.egress:
      case SET.ingress:
        return { spec: { key: [ip], data: 'verdict' }, elements: () => this.#placedIn(name) }
      case SET.hairpin:
        return { spec: { key: [ip, ip] }, elements: () => this.#placedIn(name) }
      case SET.localRanges: {
        if (this.#settings.unknownPods === 'allow') return undefined
        const ranges = disjoint(this.#content.localRanges.filter((one) => familyOf(one) === family))
        return {
          spec: { key: [ip], isInterval: true },
          elements: () => ranges.map(({ first, last }) => ({ key: first, keyEnd: last })),
        }
      }
    }
    const policySet = this.#content.sets.get(name as SetName)
    if (policySet) return renderSet(policySet, family)
    const ranges = this.#allPortSets().get(name)
    return ranges && renderPorts(ranges)
  }

  /** Undefined if the table should not hold it. */
  chain(name: string): WantedChain | undefined {
    if (this.#excluded.has(name)) return undefined
    const rules = this.#rules.of(name as ChainName)
    return rules ? { spec: {}, rules } : this.#baseChain(name)
  }

  /** The elements of one local Pod, in the two maps of Pods and in `hairpin`. */
  podElements(ip: IpAddress): readonly PlacedElement[] {
    if (familyOf(ip) !== this.#family) return []
    const key = address(ip)
    const placed: PlacedElement[] = []
    for (const direction of DIRECTIONS) {
      const data = this.#verdictOf(direction, ip)
      if (data) placed.push({ set: SET[direction], element: { key, data } })
    }
    if (!this.#isIsolated(ip)) return placed
    return [...placed, { set: SET.hairpin, element: { key: Buffer.concat([key, key]) } }]
  }

  /** The addresses of local Pods that are known, of both families. */
  podAddresses(): ReadonlySet<IpAddress> {
    const { egress, ingress } = this.#content.pods
    return new Set([...egress.keys(), ...ingress.keys()])
  }

  #isIsolated(ip: IpAddress): boolean {
    const { pods } = this.#content
    return DIRECTIONS.some((one) => (pods[one].get(ip) ?? 'accept') !== 'accept')
  }

  #verdictOf(direction: Direction, ip: IpAddress): Element['data'] {
    const wanted = this.#content.pods[direction].get(ip)
    if (wanted !== undefined && wanted !== 'accept') {
      const isDropped = wanted === 'drop' || this.#excluded.has(wanted)
      return isDropped ? { kind: 'drop' } : { kind: 'goto', chain: wanted }
    }
    if (this.#isIsolated(ip)) return { kind: 'goto', chain: CHAIN.fromBeginning }
    const isNeeded = wanted !== undefined && this.#settings.unknownPods === 'deny'
    return isNeeded ? { kind: 'accept' } : undefined
  }

  *#placedIn(set: string): Generator<Element> {
    for (const ip of this.podAddresses()) {
      for (const one of this.podElements(ip)) if (one.set === set) yield one.element
    }
  }

  /** The end of a packet in a base chain: the end whose policies are judged there. */
  #end(direction: Direction): Field {
    return direction === 'egress' ? sourceAddress(this.#family) : destinationAddress(this.#family)
  }

  #baseChain(name: string): WantedChain | undefined {
    switch (name) {
      case LOG_LIMIT: {
        if (!this.#isLogged) return undefined
        const { logDeniedPerSecond } = this.#settings
        return { spec: {}, rules: [rule(exceeds(logDeniedPerSecond), verdict('drop'))] }
      }
      case CHAIN.fromBeginning:
        return { spec: {}, rules: [rule(IS_MIDDLE_OF_TCP, reject('tcpReset'))] }
      case CHAIN.egress:
        return { spec: filter('forward', 0), rules: this.#judge('egress', name) }
      case CHAIN.ingress:
        return { spec: filter('forward', 1), rules: this.#judge('ingress', name) }
      case CHAIN.egressOutput:
        return { spec: filter('output', 0), rules: [PASS_NODE, ...this.#judge('egress', name)] }
      case CHAIN.ingressOutput:
        return { spec: filter('output', 1), rules: [PASS_NODE, ...this.#judge('ingress', name)] }
      default:
        return undefined
    }
  }

  #judge(direction: Direction, chain: string): readonly Rule[] {
    const end = this.#end(direction)
    const rules = [
      rule(hasState(STATE.established | STATE.related), verdict('accept')),
      rule(verdictOf(SET[direction], end)),
    ]
    if (this.#settings.unknownPods === 'allow') return rules
    const isLogged = this.#isLogged
    return [...rules, ...dropRules({ chain, isLogged }, isIn(SET.localRanges, end))]
  }

  #allPortSets(): ReadonlyMap<string, PortRanges> {
    const { policyChains, tierChains } = this.#content
    return (this.#portSets ??= portSetsOf([...policyChains.values(), ...tierChains.values()]))
  }
}

function renderSet(set: PolicySet, family: Family): WantedSet {
  const ip = addressType(family)
  const isOurs = (one: IpAddress) => familyOf(one) === family
  switch (set.kind) {
    case 'pods': {
      const comment = commentOf(set.comment)
      return {
        spec: { key: [ip], ...(comment === '' ? {} : { comment }) },
        elements: () => Iterator.from(set.members).filter(isOurs).map(podElement),
      }
    }
    case 'blocks':
      return {
        spec: { key: [ip], isInterval: true },
        elements: () =>
          set.ranges
            .filter(({ first }) => isOurs(first))
            .map(({ first, last }) => ({ key: address(first), keyEnd: address(last) })),
      }
    case 'namedPorts':
      return {
        spec: { key: [ip, 'inet_proto', 'inet_service'] },
        elements: () =>
          Iterator.from(set.members.values())
            .filter((one) => isOurs(one.ip))
            .map(namedPortElement),
      }
  }
}

/** The element of a Pod in a set of Pods. */
export function podElement(ip: IpAddress): Element {
  return { key: address(ip) }
}

/** The element of a port of a Pod in a set of named ports. */
export function namedPortElement({ ip, protocol: of, port: number }: NamedPortMember): Element {
  return { key: Buffer.concat([address(ip), protocol(of), port(number)]) }
}

function addressType(family: Family): 'ipv4_addr' | 'ipv6_addr' {
  return family === 4 ? 'ipv4_addr' : 'ipv6_addr'
}

/** Packets of the node itself reach every Pod. */
const PASS_NODE = rule(FROM_NODE, verdict('accept'))

function filter(hook: Hook['hook'], priority: number): ChainSpec {
  return { hook: { type: 'filter', hook, priority } }
}
