import type { Rule } from '../../kernel/nftables/objects.ts'
import {
  DESTINATION_PORT,
  destinationAddress,
  PROTOCOL,
  sourceAddress,
} from '../../kernel/nftables/rules/fields.ts'
import { IS_MIDDLE_OF_TCP, isProtocol } from '../../kernel/nftables/rules/matches.ts'
import {
  COUNTER,
  commentOf,
  goto,
  isIn,
  jump,
  logTo,
  reject,
  rule,
  type Statement,
  verdict,
} from '../../kernel/nftables/rules/statements.ts'
import type { Family } from '../../lib/ip.ts'
import type { Direction } from '../../networkpolicy/network-policy.ts'
import { present } from '../../resources/reader.ts'
import type {
  ChainName,
  ChainRule,
  PodChain,
  PolicyChain,
  PolicyContent,
  SetName,
  TierChain,
  TierRule,
} from '../policy-content.ts'
import { aloneMatch, nameOfPorts, rangesOf } from './port-ranges.ts'

/** The group of nfnetlink_log to which denied packets are sent: `np`. */
export const LOG_GROUP = 0x6e70

/** The chain that drops what exceeds the limit of the log. */
export const LOG_LIMIT = 'log-limit'

/**
 * Counts and drops what the chain denies. If it is logged: within the limit, and under the name of the chain. The limit
 * is a chain of its own, so that all chains together have one; it can decide, because the packet is dropped anyway.
 */
export function dropRules(
  { chain, isLogged }: { readonly chain: string; readonly isLogged: boolean },
  ...matches: readonly Statement[]
): readonly Rule[] {
  if (!isLogged) return [rule(...matches, COUNTER, verdict('drop'))]
  return [
    rule(...matches, COUNTER, jump(LOG_LIMIT)),
    rule(...matches, logTo(LOG_GROUP, chain), verdict('drop')),
  ]
}

/** The matches of a rule: one for each rule of the kernel. */
interface Matches {
  readonly matches: readonly Statement[]
  /** Whether some are missing, because the kernel refuses a set. */
  readonly isPartial: boolean
}

/** What the rules of chains are rendered from. */
export interface ChainRulesOptions {
  readonly family: Family
  readonly content: PolicyContent
  /** See `WantedOptions`. */
  readonly excluded: ReadonlySet<string>
  /** The set of the pairs of equal addresses of local Pods. */
  readonly hairpin: string
  /** Whether denied packets are logged. */
  readonly isLogged: boolean
}

/** The rules of the chains that follow from policies. */
export class ChainRules {
  readonly #options: ChainRulesOptions

  constructor(options: ChainRulesOptions) {
    this.#options = options
  }

  /** Undefined if no policy needs a chain of this name. */
  of(name: ChainName): readonly Rule[] | undefined {
    const { policyChains, tierChains, denyChains, podChains } = this.#options.content
    const policyChain = policyChains.get(name)
    if (policyChain) return this.#ofPolicy(policyChain)
    const tierChain = tierChains.get(name)
    if (tierChain) return this.#ofTier(tierChain)
    const denyChain = denyChains.get(name)
    if (denyChain) {
      const comment = commentOf(denyChain.policy)
      return this.#drop(name).map((one) => ({ ...one, comment }))
    }
    const podChain = podChains.get(name)
    return podChain && this.#ofPods(podChain, name)
  }

  #ofPods({ admin, policies, baseline }: PodChain, chain: ChainName): readonly Rule[] {
    const { family, excluded, hairpin } = this.#options
    const before = [
      rule(isIn(hairpin, sourceAddress(family), destinationAddress(family)), verdict('accept')),
      rule(IS_MIDDLE_OF_TCP, reject('tcpReset')),
    ]
    const tiers = present([admin, baseline])
    if (tiers.some((name) => excluded.has(name))) return [...before, ...this.#drop(chain)]
    const chains = present([admin, ...policies.filter((name) => !excluded.has(name)), baseline])
    const last = policies.length > 0 ? this.#drop(chain) : [rule(verdict('accept'))]
    return [...before, ...chains.map((name) => rule(jump(name))), ...last]
  }

  #drop(chain: ChainName): readonly Rule[] {
    return dropRules({ chain, isLogged: this.#options.isLogged })
  }

  #ofPolicy({ direction, policy, rules }: PolicyChain): readonly Rule[] {
    const comment = commentOf(policy)
    return rules.flatMap((one) =>
      this.#matches(direction, one).matches.map((match) => ({
        ...rule(match, verdict('accept')),
        comment,
      })),
    )
  }

  /** Pass ends the chain of the tier, so that the chain of the Pods goes on. */
  #ofTier({ direction, rules }: TierChain): readonly Rule[] {
    return rules.flatMap((one) => {
      const { matches, isPartial } = this.#matches(direction, one)
      const { action } = one
      const comment = commentOf(one.comment)
      // Without a set that the kernel refuses, a rule that closes cannot be left out.
      if (isPartial && action !== 'accept') return [{ ...rule(this.#deny(action)), comment }]
      const last =
        action === 'accept' || action === 'pass'
          ? verdict(action === 'accept' ? 'accept' : 'return')
          : this.#deny(action)
      return matches.map((match) => ({ ...rule(match, last), comment }))
    })
  }

  #deny(action: TierRule['action']): Statement {
    const isCounted = typeof action === 'object' && !this.#options.excluded.has(action.deny)
    return isCounted ? goto(action.deny) : verdict('drop')
  }

  #matches(direction: Direction, { peers, ports }: ChainRule): Matches {
    if (peers !== 'any' && !this.#hasSet(peers)) return { matches: [], isPartial: true }
    const peer = direction === 'egress' ? destinationAddress : sourceAddress
    const from = peers === 'any' ? [] : isIn(peers, peer(this.#options.family))
    const { matches, isPartial } = this.#portMatches(ports)
    return { matches: matches.map((match) => [...from, ...match]), isPartial }
  }

  /** One match for all ports that are numbers, and one for each name. */
  #portMatches(ports: ChainRule['ports']): Matches {
    if (ports === 'any') return { matches: [[]], isPartial: false }
    const names = ports.flatMap(({ protocol, ports: of }) =>
      typeof of === 'object' && 'named' in of ? [{ protocol, set: of.named }] : [],
    )
    const address = destinationAddress(this.#options.family)
    const matches: Statement[] = names
      .filter(({ set }) => this.#hasSet(set))
      .map(({ protocol, set }) => [
        ...isProtocol(protocol),
        ...isIn(set, address, PROTOCOL, DESTINATION_PORT),
      ])
    const isPartial = matches.length < names.length
    const numbers = rangesOf(ports)
    if (numbers.length === 0) return { matches, isPartial }
    const alone = aloneMatch(numbers)
    if (alone) return { matches: [alone, ...matches], isPartial }
    const name = nameOfPorts(numbers)
    if (this.#options.excluded.has(name)) return { matches, isPartial: true }
    return { matches: [isIn(name, PROTOCOL, DESTINATION_PORT), ...matches], isPartial }
  }

  #hasSet(name: SetName): boolean {
    return this.#options.content.sets.has(name) && !this.#options.excluded.has(name)
  }
}
