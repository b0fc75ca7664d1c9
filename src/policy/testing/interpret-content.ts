import { familyOf, type IpAddress, ipBytes } from '../../lib/ip.ts'
import type { Direction } from '../../networkpolicy/network-policy.ts'
import type { Protocol } from '../../resources/types.ts'
import type {
  ChainName,
  ChainRule,
  PolicyChanges,
  PolicyContent,
  PolicySet,
  PortMatch,
  SetName,
} from '../policy-content.ts'

/** The first packet of a connection. */
export interface FirstPacket {
  readonly source: IpAddress
  readonly destination: IpAddress
  readonly protocol: Protocol
  readonly port: number
}

/** Whether content admits a packet, as its types say it; written without a thought of speed. */
export function interpret(content: PolicyContent, packet: FirstPacket): boolean {
  return (
    packet.source === packet.destination ||
    (admits(content, 'egress', packet) && admits(content, 'ingress', packet))
  )
}

function admits(content: PolicyContent, direction: Direction, packet: FirstPacket): boolean {
  const [own, peer] =
    direction === 'egress'
      ? [packet.source, packet.destination]
      : [packet.destination, packet.source]
  const verdict = content.pods[direction].get(own)
  if (verdict === undefined || verdict === 'accept') return true
  if (verdict === 'drop') return false
  const chain = content.podChains.get(verdict)
  if (chain?.direction !== direction) throw new Error(`${verdict} is no chain for ${direction}`)
  const isMatch = (rule: ChainRule): boolean => matches(content, rule, peer, packet)
  const ofAdmin = tierAction(content, direction, chain.admin, isMatch)
  if (ofAdmin !== 'pass') return ofAdmin === 'accept'
  if (chain.policies.length > 0) {
    return chain.policies.some((name) => {
      const policy = content.policyChains.get(name)
      if (policy?.direction !== direction) throw new Error(`${name} is no chain for ${direction}`)
      return policy.rules.some(isMatch)
    })
  }
  return tierAction(content, direction, chain.baseline, isMatch) !== 'deny'
}

function tierAction(
  { tierChains, denyChains }: PolicyContent,
  direction: Direction,
  name: ChainName | undefined,
  isMatch: (rule: ChainRule) => boolean,
): 'accept' | 'deny' | 'pass' {
  if (name === undefined) return 'pass'
  const tier = tierChains.get(name)
  if (tier?.direction !== direction) throw new Error(`${name} is no chain for ${direction}`)
  for (const { action } of tier.rules) {
    if (typeof action === 'object' && denyChains.get(action.deny)?.direction !== direction) {
      throw new Error(`${action.deny} is no chain for ${direction}`)
    }
  }
  const action = tier.rules.find(isMatch)?.action ?? 'pass'
  return typeof action === 'object' ? 'deny' : action
}

function matches(
  content: PolicyContent,
  { peers, ports }: ChainRule,
  peer: IpAddress,
  packet: FirstPacket,
): boolean {
  const isPeer = peers === 'any' || isIn(setOf(content, peers), peer)
  return isPeer && (ports === 'any' || ports.some((one) => matchesPort(content, one, packet)))
}

function matchesPort(content: PolicyContent, match: PortMatch, packet: FirstPacket): boolean {
  if (match.protocol !== packet.protocol) return false
  if (match.ports === 'any') return true
  if (!('named' in match.ports)) {
    return match.ports.some(({ first, last }) => first <= packet.port && packet.port <= last)
  }
  const set = setOf(content, match.ports.named)
  if (set.kind !== 'namedPorts') throw new Error(`${match.ports.named} is no set of ports`)
  return set.members
    .values()
    .some(
      ({ ip, protocol, port }) =>
        ip === packet.destination && protocol === packet.protocol && port === packet.port,
    )
}

function setOf(content: PolicyContent, name: SetName): PolicySet {
  const set = content.sets.get(name)
  if (set === undefined) throw new Error(`there is no set ${name}`)
  return set
}

function isIn(set: PolicySet, ip: IpAddress): boolean {
  if (set.kind === 'pods') return set.members.has(ip)
  if (set.kind !== 'blocks') throw new Error('a set of ports is no peer')
  const number = numberOf(ip)
  return set.ranges.some(
    ({ first, last }) =>
      familyOf(first) === familyOf(ip) && numberOf(first) <= number && number <= numberOf(last),
  )
}

function numberOf(ip: IpAddress): bigint {
  return ipBytes(ip).reduce((number, byte) => number * 256n + BigInt(byte), 0n)
}

/** Content as plain values, which a writer keeps that knows changes alone. */
export class Copy {
  readonly #sets = new Map<SetName, Map<string, unknown>>()
  readonly #rest = new Map<string, unknown>()

  /** Brings the copy up to date with the changes alone. Throws where they say what cannot be. */
  follow(content: PolicyContent, changes: PolicyChanges): void {
    for (const name of changes.sets) {
      if (this.#sets.has(name) === content.sets.has(name)) throw new Error(`${name} did not change`)
      this.#sets.delete(name)
      const set = content.sets.get(name)
      if (set) this.#sets.set(name, new Map(membersOf(set)))
    }
    for (const [name, keys] of changes.members) {
      const [held, set] = [this.#sets.get(name), content.sets.get(name)]
      if (held === undefined || set === undefined) throw new Error(`there is no set ${name}`)
      const now = new Map(membersOf(set))
      for (const key of keys) {
        if (held.has(key) === now.has(key)) throw new Error(`${key} did not change`)
        if (now.has(key)) held.set(key, now.get(key))
        else held.delete(key)
      }
    }
    for (const name of changes.chains) {
      const { policyChains, podChains, tierChains, denyChains } = content
      const all = [policyChains, podChains, tierChains, denyChains]
      const chain = all.map((chains) => chains.get(name)).find((one) => one !== undefined)
      this.#put(`chain ${name}`, chain && structuredClone(chain))
    }
    for (const direction of ['ingress', 'egress'] as const) {
      for (const ip of changes.pods[direction]) {
        this.#put(`${direction} ${ip}`, content.pods[direction].get(ip))
      }
    }
    if (changes.hasLocalRanges) this.#put('ranges', structuredClone(content.localRanges))
  }

  #put(key: string, value: unknown): void {
    if (value === undefined) this.#rest.delete(key)
    else this.#rest.set(key, value)
  }

  /** Comparable with that of another copy. */
  get state(): unknown {
    const sets = [...this.#sets].map(([name, members]) => [name, [...members].toSorted(byKey)])
    return { sets: sets.toSorted(byKey), rest: [...this.#rest].toSorted(byKey) }
  }
}

function byKey([a]: readonly unknown[], [b]: readonly unknown[]): number {
  return String(a) < String(b) ? -1 : 1
}

function membersOf(set: PolicySet): readonly (readonly [string, unknown])[] {
  if (set.kind === 'blocks') return set.ranges.map((range) => [range.first, range])
  return set.kind === 'pods' ? [...set.members].map((ip) => [ip, true]) : [...set.members]
}
