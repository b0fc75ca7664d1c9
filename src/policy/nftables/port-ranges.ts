import type { Element, SetSpec } from '../../kernel/nftables/objects.ts'
import { PROTOCOL_NUMBER, port, protocol } from '../../kernel/nftables/rules/encode.ts'
import { DESTINATION_PORT } from '../../kernel/nftables/rules/fields.ts'
import { isProtocol } from '../../kernel/nftables/rules/matches.ts'
import { compare, type Statement } from '../../kernel/nftables/rules/statements.ts'
import { hashName } from '../../lib/hash.ts'
import { MAX_PORT } from '../../lib/port-range.ts'
import type { ChainRule, PortMatch } from '../policy-content.ts'

/** Ranges of ports of protocols: sorted, none touches another of its protocol. */
export type PortRanges = readonly {
  readonly protocol: PortMatch['protocol']
  readonly first: number
  readonly last: number
}[]

/** The sets of ports that the rules of chains need, by name. */
export function portSetsOf(
  chains: Iterable<{ readonly rules: readonly ChainRule[] }>,
): ReadonlyMap<string, PortRanges> {
  const sets = new Map<string, PortRanges>()
  for (const { rules } of chains) {
    for (const { ports } of rules) {
      const ranges = ports === 'any' ? [] : rangesOf(ports)
      if (ranges.length > 0 && !aloneMatch(ranges)) sets.set(nameOfPorts(ranges), ranges)
    }
  }
  return sets
}

/** The ports that are given as numbers; those given by name are in other sets. */
export function rangesOf(ports: readonly PortMatch[]): PortRanges {
  const all = ports.flatMap(({ protocol, ports: ranges }) => {
    if (ranges === 'any') return [{ protocol, first: 0, last: MAX_PORT }]
    return 'named' in ranges ? [] : ranges.map(({ first, last }) => ({ protocol, first, last }))
  })
  const sorted = all.toSorted(
    (a, b) => PROTOCOL_NUMBER[a.protocol] - PROTOCOL_NUMBER[b.protocol] || a.first - b.first,
  )
  const merged: { protocol: PortMatch['protocol']; first: number; last: number }[] = []
  for (const one of sorted) {
    const before = merged.at(-1)
    if (before?.protocol === one.protocol && one.first <= before.last + 1) {
      before.last = Math.max(before.last, one.last)
    } else merged.push({ ...one })
  }
  return merged
}

/** The match that needs no set: one port or all ports of one protocol; undefined for any other ranges. */
export function aloneMatch(ranges: PortRanges): Statement | undefined {
  const [only, second] = ranges
  if (only === undefined || second !== undefined) return undefined
  const is = isProtocol(only.protocol)
  if (only.first === 0 && only.last === MAX_PORT) return is
  if (only.first !== only.last) return undefined
  return [...is, ...compare(DESTINATION_PORT, 'equal', port(only.first).subarray(0, 2))]
}

const PREFIX = 'ports-'
const HASH_LENGTH = 19

/** The name of the set of these ports: it follows from them. */
export function nameOfPorts(ranges: PortRanges): string {
  const text = ranges.map((one) => `${one.protocol} ${one.first}-${one.last}`).join(' ')
  return PREFIX + hashName(text, HASH_LENGTH)
}

/** Whether a set is one of ports, by its name. */
export function isPortSet(name: string): boolean {
  return name.startsWith(PREFIX)
}

/** The set of these ports. */
export function renderPorts(ranges: PortRanges): {
  readonly spec: SetSpec
  elements(): Iterable<Element>
} {
  return {
    spec: { key: ['inet_proto', 'inet_service'], isInterval: true },
    elements: () =>
      ranges.map((one) => ({
        key: Buffer.concat([protocol(one.protocol), port(one.first)]),
        keyEnd: Buffer.concat([protocol(one.protocol), port(one.last)]),
      })),
  }
}
