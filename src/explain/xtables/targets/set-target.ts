import { branchOf } from '../../packet/branch.ts'
import { changeSet, lookUp } from '../matches/ip-sets.ts'
import { hasOption, type OptionGroup } from '../model/rule.ts'
import { result, type TargetEffect, unclear, unknownOption } from './target-effect.ts'

const CHANGES = new Set(['--add-set', '--del-set', '--exist', '--timeout'])
const MAPS = new Set(['--map-set', '--map-mark', '--map-prio', '--map-queue'])

/** SET: adds the packet to sets or deletes it, or gives it the mark of its element. */
export const set: TargetEffect = (input) => {
  if (hasOption(input.group, '--map-set')) return map(input)
  const { group, world } = input
  const odd = unknownOption(group, CHANGES)
  if (odd !== undefined) return unclear(input, odd)
  let { packet } = input
  for (const name of ['--add-set', '--del-set']) {
    const reference = referenceOf(group, name)
    if (reference === undefined) continue
    const changed = changeSet(world.sets, { ...reference, packet }, name === '--add-set')
    if (changed === undefined) return unclear(input, `set ${reference.name}, which is not listed`)
    packet = changed
  }
  return result(packet)
}

const map: TargetEffect = (input) => {
  const { packet, group, world } = input
  const odd = unknownOption(group, MAPS)
  if (odd !== undefined) return unclear(input, odd)
  const reference = referenceOf(group, '--map-set')
  if (reference === undefined) return result(packet)
  const found = lookUp(world.sets, { ...reference, packet })
  if ('unknown' in found) return unclear(input, found.unknown)
  const marked = found.element?.mark
  if (marked === undefined || !hasOption(group, '--map-mark')) return result(packet)
  const mark = ((packet.mark & ~marked.mask) ^ marked.value) >>> 0
  return [branchOf({ ...packet, mark })]
}

function referenceOf(group: OptionGroup, option: string) {
  const [name, flags] = group.options.find((one) => one.name === option)?.values ?? []
  return name === undefined || flags === undefined ? undefined : { name, flags }
}
