import type { PacketState } from '../../packet/packet-state.ts'
import {
  elementText,
  findElement,
  type IpSet,
  type SetAnswer,
  type SetElement,
  type SetLookup,
  type SetSide,
} from '../model/ip-set.ts'
import type { Rule } from '../model/rule.ts'
import type { XtablesWorld } from '../model/ruleset.ts'
import { allOf, type MatchTest, MODIFIER } from './match-test.ts'

/** `-m set`. Options about the counters of elements are not supported. */
export const ipSets: MatchTest = allOf({
  '--match-set': ([name = '', flags = ''], { packet, world }) => {
    const found = lookUp(world.sets, { name, flags, packet })
    if ('unknown' in found) return found
    return found.element !== undefined
  },
  '--update-counters': MODIFIER,
  '--update-subcounters': MODIFIER,
})

/** Seconds until the kernel deletes an element by which a packet matches a rule; undefined if none is temporary. */
export function secondsLeft(
  { matches }: Rule,
  packet: PacketState,
  { sets }: XtablesWorld,
): number | undefined {
  const references = matches
    .filter(({ name }) => name === 'set')
    .flatMap(({ options }) => options)
    .filter(({ name, isNegated }) => name === '--match-set' && !isNegated)
  for (const { values } of references) {
    const [name = '', flags = ''] = values
    if (sets.get(name)?.isTemporary !== true) continue
    const found = lookUp(sets, { name, flags, packet })
    if (!('unknown' in found) && found.element?.secondsLeft !== undefined)
      return found.element.secondsLeft
  }
  return undefined
}

/** A reference to a set in a rule: `--match-set NAME src,dst`. */
export interface SetReference {
  readonly name: string
  readonly flags: string
  readonly packet: PacketState
}

/** The element of a set that a packet matches; for `list:set` that of the first set with such an element. */
export function lookUp(sets: ReadonlyMap<string, IpSet>, reference: SetReference): SetAnswer {
  const set = sets.get(reference.name)
  if (set === undefined) return { unknown: `set ${reference.name}, which is not listed` }
  if (set.type !== 'list:set') return lookUpOne(set, reference)
  let unknown: SetAnswer | undefined
  for (const { parts } of set.elements) {
    const member = sets.get(parts[0] ?? '')
    const found = member === undefined ? undefined : lookUpOne(member, reference)
    if (found !== undefined && 'unknown' in found) unknown = found
    else if (found?.element !== undefined) return found
  }
  return unknown ?? { element: undefined }
}

/** The packet after `-j SET --add-set` or `--del-set`; undefined if the set is not listed. */
export function changeSet(
  sets: ReadonlyMap<string, IpSet>,
  reference: SetReference,
  isAdded: boolean,
): PacketState | undefined {
  const { name, packet } = reference
  const set = sets.get(name)
  if (set === undefined) return undefined
  const change = { set: name, element: elementText(set, lookupOf(reference)), isAdded }
  return { ...packet, setChanges: [...packet.setChanges, change] }
}

/** Changes by the packet's own rules take precedence over the listing. */
function lookUpOne(set: IpSet, reference: SetReference): SetAnswer {
  const lookup = lookupOf(reference)
  const own = elementText(set, lookup)
  const change = reference.packet.setChanges.findLast(
    (one) => one.set === set.name && one.element === own,
  )
  if (change === undefined) return findElement(set, lookup)
  const element: SetElement = {
    text: own,
    parts: own.split(','),
    isException: false,
    mark: undefined,
    secondsLeft: undefined,
  }
  return { element: change.isAdded ? element : undefined }
}

function lookupOf({ flags, packet }: SetReference): SetLookup {
  const sides = flags.split(',').map((flag) => sideOf(packet, flag))
  return { protocol: packet.protocol.toLowerCase(), mark: packet.mark, sides }
}

function sideOf(packet: PacketState, flag: string): SetSide {
  return flag === 'src'
    ? { ip: packet.src, port: packet.srcPort, interfaceName: packet.inInterface }
    : { ip: packet.dst, port: packet.dstPort, interfaceName: packet.outInterface }
}
