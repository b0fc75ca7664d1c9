import type { PacketState } from '../../packet/packet-state.ts'
import { findElement, type IpSet, type SetAnswer, type SetSide } from '../model/ip-set.ts'
import { allOf, type MatchTest, MODIFIER } from './match-test.ts'

/** `-m set`. Counters of elements are not looked at. */
export const ipSets: MatchTest = allOf({
  '--match-set': ([name = '', flags = ''], { packet, world }) => {
    const found = lookUp(world.sets, { name, flags, packet })
    if ('unknown' in found) return found
    return found.element !== undefined
  },
  '--update-counters': MODIFIER,
  '--update-subcounters': MODIFIER,
})

/** A reference to a set in a rule: `--match-set NAME src,dst`. */
export interface SetReference {
  readonly name: string
  readonly flags: string
  readonly packet: PacketState
}

/** The element of a set that a packet has; of `list:set` that of the first set that contains it. */
export function lookUp(
  sets: ReadonlyMap<string, IpSet>,
  { name, flags, packet }: SetReference,
): SetAnswer {
  const set = sets.get(name)
  if (set === undefined) return { unknown: `set ${name}, which is not listed` }
  const sides = flags.split(',').map((flag) => sideOf(packet, flag))
  const lookup = { protocol: packet.protocol.toLowerCase(), mark: packet.mark, sides }
  if (set.type !== 'list:set') return findElement(set, lookup)
  let unknown: SetAnswer | undefined
  for (const { parts } of set.elements) {
    const member = sets.get(parts[0] ?? '')
    const found = member === undefined ? undefined : findElement(member, lookup)
    if (found !== undefined && 'unknown' in found) unknown = found
    else if (found?.element !== undefined) return found
  }
  return unknown ?? { element: undefined }
}

function sideOf(packet: PacketState, flag: string): SetSide {
  return flag === 'src'
    ? { ip: packet.src, port: packet.srcPort, interfaceName: packet.inInterface }
    : { ip: packet.dst, port: packet.dstPort, interfaceName: packet.outInterface }
}
