import type { PacketState } from '../../packet/packet-state.ts'
import { changeSet, lookUp } from '../matches/ip-sets.ts'
import { hasOption, type OptionGroup, optionValue } from '../model/rule.ts'
import { result, type TargetEffect, unclear, unknownOption } from './target-effect.ts'

const CHANGES = new Set(['--add-set', '--del-set', '--exist', '--timeout'])
const MAPS = new Set(['--map-set', '--map-mark', '--map-prio', '--map-queue'])

/** SET: adds the packet to sets, deletes it from them, or gives it the mark of its element. */
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
  return result({ ...packet, mark })
}

/** MARK: iptables lists `--set-mark`, `--and-mark`, `--or-mark` and `--xor-mark` as `--set-xmark`. */
export const mark: TargetEffect = (input) => {
  const { packet, group } = input
  const odd = unknownOption(group, new Set(['--set-xmark']))
  const text = optionValue(group, '--set-xmark')
  if (odd !== undefined || text === undefined) return unclear(input, odd ?? 'its mark')
  return result({ ...packet, mark: exclusiveOr(packet.mark, text) })
}

/** CONNMARK: sets the mark of the connection, saves the packet's mark in it, or restores it. */
export const connectionMark: TargetEffect = (input) => {
  const { packet, group } = input
  if (packet.connection.status === 'untracked') return result(packet)
  const text = optionValue(group, '--set-xmark')
  if (text !== undefined) return result(withMark(packet, exclusiveOr(packet.connection.mark, text)))
  const [ours, theirs] = [maskOf(group, '--nfmask'), maskOf(group, '--ctmask')]
  if (hasOption(group, '--save-mark')) {
    const kept = packet.connection.mark & ~theirs
    return result(withMark(packet, (kept ^ (packet.mark & ours)) >>> 0))
  }
  if (!hasOption(group, '--restore-mark')) return unclear(input, 'its mark')
  const kept = packet.mark & ~ours
  return result({ ...packet, mark: (kept ^ (packet.connection.mark & theirs)) >>> 0 })
}

function withMark(packet: PacketState, value: number): PacketState {
  return { ...packet, connection: { ...packet.connection, mark: value } }
}

/** `VALUE/MASK`: clears the bits of the mask, then flips those of the value. */
export function exclusiveOr(before: number, text: string): number {
  const [value = '0', mask = '0xffffffff'] = text.split('/')
  return ((before & ~Number(mask)) ^ Number(value)) >>> 0
}

function maskOf(group: OptionGroup, name: string): number {
  return Number(optionValue(group, name) ?? '0xffffffff')
}

function referenceOf(group: OptionGroup, option: string) {
  const [name, flags] = group.options.find((one) => one.name === option)?.values ?? []
  return name === undefined || flags === undefined ? undefined : { name, flags }
}
