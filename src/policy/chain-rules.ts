import { MAX_PORT } from '../lib/port-range.ts'
import type { PolicyPort, PolicyRule } from '../networkpolicy/network-policy.ts'
import { present } from '../resources/reader.ts'
import type { ChainRule, PortMatch, SetName } from './policy-content.ts'
import type { PolicySets } from './policy-sets.ts'

/** Writes rules of policies as rules of one chain, and remembers which sets these need. */
export class RuleWriter {
  readonly #sets: PolicySets
  readonly #needed: SetName[] = []

  constructor(sets: PolicySets) {
    this.#sets = sets
  }

  /** The sets of all rules so far, each as often as a rule names it; to be released with the chain. */
  get needed(): readonly SetName[] {
    return this.#needed
  }

  /** The rules for one rule; `namespace`: that of peers without a namespace selector. */
  write({ peers, ports }: PolicyRule, namespace: string): readonly ChainRule[] {
    const to = ports === 'any' ? ports : present(ports.map((one) => this.#port(one)))
    if (to !== 'any' && to.length === 0) return []
    if (peers === 'any') return [{ peers, ports: to }]
    return peers.map((peer) => ({ peers: this.#need(this.#sets.need(peer, namespace)), ports: to }))
  }

  /** Undefined for numbers that no port has. */
  #port({ protocol, port }: PolicyPort): PortMatch | undefined {
    if (port === undefined) return { protocol, ports: 'any' }
    if (typeof port === 'string') {
      return { protocol, ports: { named: this.#need(this.#sets.needPort(protocol, port)) } }
    }
    const range = {
      first: Math.max(Math.ceil(port.first), 0),
      last: Math.min(Math.floor(port.last), MAX_PORT),
    }
    return range.first <= range.last ? { protocol, ports: [range] } : undefined
  }

  #need(set: SetName): SetName {
    this.#needed.push(set)
    return set
  }
}
