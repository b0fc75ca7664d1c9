import { parseIp } from '../../../lib/ip.ts'
import { ACCEPT, branchOf } from '../../packet/branch.ts'
import { untracked } from '../../packet/translate.ts'
import { hasOption, optionValue } from '../model/rule.ts'
import { result, type TargetEffect, unclear, unknownOption } from './target-effect.ts'

export const accept: TargetEffect = ({ packet }) => [branchOf(packet, ACCEPT)]

export const drop: TargetEffect = ({ packet }) => [branchOf(packet, { kind: 'drop' })]

/** REJECT; ICMPv6 errors have the names of those of ICMP. */
export const reject: TargetEffect = ({ packet, group }) => {
  const how = optionValue(group, '--reject-with') ?? 'icmp-port-unreachable'
  return [branchOf(packet, { kind: 'reject', how: how.replace(/^icmp6-/, 'icmp-') })]
}

/** NOTRACK, and CT with `--notrack`. Zones divide connection tracking, which a walk does not model. */
export const tracking: TargetEffect = (input) => {
  const { packet, group } = input
  const isHarmless = new Set(['--notrack', '--helper', '--ctevents', '--expevents'])
  const odd = unknownOption(group, isHarmless)
  if (odd !== undefined) return unclear(input, odd)
  return result(
    group.name === 'NOTRACK' || hasOption(group, '--notrack') ? untracked(packet) : packet,
  )
}

/** TPROXY: a local socket receives the packet if it is routed here; without a socket the packet is dropped. */
export const transparentProxy: TargetEffect = (input) => {
  const { packet, group, world } = input
  const on = parseIp(optionValue(group, '--on-ip') ?? '')
  const isWildcard = on === undefined || on === '0.0.0.0' || on === '::'
  const port = Number(optionValue(group, '--on-port') ?? 0)
  const socket = { ip: isWildcard ? packet.dst : on, port: port === 0 ? packet.dstPort : port }
  if (world.facts.listens(packet.protocol, socket) === 'none') {
    const reason = `TPROXY: no socket listens on port ${socket.port}`
    return [branchOf(packet, { kind: 'drop', reason })]
  }
  const [value = '0', mask = '0xffffffff'] = (
    optionValue(group, '--tproxy-mark') ?? '0x0/0x0'
  ).split('/')
  const marked = ((packet.mark & ~Number(mask)) ^ Number(value)) >>> 0
  return result({ ...packet, mark: marked, socket }, 'accept')
}
