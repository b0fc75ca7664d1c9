import type { PacketState } from '../../packet/packet-state.ts'
import { hasOption, type OptionGroup, optionValue } from '../model/rule.ts'
import { result, type TargetEffect, unclear, unknownOption } from './target-effect.ts'

/** MARK: iptables lists `--set-mark`, `--and-mark`, `--or-mark` and `--xor-mark` as `--set-xmark`. */
export const mark: TargetEffect = (input) => {
  const { packet, group } = input
  const odd = unknownOption(group, new Set(['--set-xmark']))
  const text = optionValue(group, '--set-xmark')
  if (odd !== undefined || text === undefined) return unclear(input, odd ?? 'its mark')
  return result({ ...packet, mark: exclusiveOr(packet.mark, text) })
}

/** CONNMARK: sets the mark of the connection, saves the packet's in it, or restores it. */
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
function exclusiveOr(before: number, text: string): number {
  const [value = '0', mask = '0xffffffff'] = text.split('/')
  return ((before & ~Number(mask)) ^ Number(value)) >>> 0
}

function maskOf(group: OptionGroup, name: string): number {
  return Number(optionValue(group, name) ?? '0xffffffff')
}
