import { parseIp } from '../../../lib/ip.ts'
import { ACCEPT, type Branch, branchOf } from '../../packet/branch.ts'
import { untracked } from '../../packet/packet-state.ts'
import { hasOption, optionValue } from '../model/rule.ts'
import { connectionMark, exclusiveOr, mark, set } from './mark-and-set-targets.ts'
import { dnat, masquerade, redirect, snat } from './nat-targets.ts'
import {
  result,
  type TargetEffect,
  type TargetInput,
  unclear,
  unknownOption,
} from './target-effect.ts'

const accept: TargetEffect = ({ packet }) => [branchOf(packet, ACCEPT)]

const drop: TargetEffect = ({ packet }) => [branchOf(packet, { kind: 'drop' })]

/** REJECT; ICMPv6 errors have the names of those of ICMP. */
const reject: TargetEffect = ({ packet, group }) => {
  const how = optionValue(group, '--reject-with') ?? 'icmp-port-unreachable'
  return [branchOf(packet, { kind: 'reject', how: how.replace(/^icmp6-/, 'icmp-') })]
}

/** NOTRACK, and CT with `--notrack`. Zones divide connection tracking, which a walk does not model. */
const tracking: TargetEffect = (input) => {
  const { packet, group } = input
  const isHarmless = new Set(['--notrack', '--helper', '--ctevents', '--expevents'])
  const odd = unknownOption(group, isHarmless)
  if (odd !== undefined) return unclear(input, odd)
  return result(
    group.name === 'NOTRACK' || hasOption(group, '--notrack') ? untracked(packet) : packet,
  )
}

/** TPROXY: a local socket receives the packet if it is routed here; without a socket the packet is dropped. */
const transparentProxy: TargetEffect = (input) => {
  const { packet, group, world } = input
  const on = parseIp(optionValue(group, '--on-ip') ?? '')
  const isWildcard = on === undefined || on === '0.0.0.0' || on === '::'
  const port = Number(optionValue(group, '--on-port') ?? 0)
  const socket = { ip: isWildcard ? packet.dst : on, port: port === 0 ? packet.dstPort : port }
  if (world.facts.listens(packet.protocol, socket) === 'none') {
    const reason = `TPROXY: no socket listens on port ${socket.port}`
    return [branchOf(packet, { kind: 'drop', reason })]
  }
  const marked = exclusiveOr(packet.mark, optionValue(group, '--tproxy-mark') ?? '0x0/0x0')
  return result({ ...packet, mark: marked, socket }, 'accept')
}

/** Targets that change the packet or end its path; the caller handles RETURN and chains. */
const TARGETS: ReadonlyMap<string, TargetEffect> = new Map([
  ['ACCEPT', accept],
  ['DROP', drop],
  ['REJECT', reject],
  ['DNAT', dnat],
  ['SNAT', snat],
  ['MASQUERADE', masquerade],
  ['REDIRECT', redirect],
  ['MARK', mark],
  ['CONNMARK', connectionMark],
  ['SET', set],
  ['NOTRACK', tracking],
  ['CT', tracking],
  ['TPROXY', transparentProxy],
])

/** Targets without an effect on anything that a walk models: the packet goes on, whether they apply or not. */
const WITHOUT_EFFECT = new Set([
  'LOG',
  'NFLOG',
  'ULOG',
  'AUDIT',
  'TRACE',
  'TEE',
  'CHECKSUM',
  'CLASSIFY',
  'LED',
  'IDLETIMER',
  'TCPMSS',
  'TCPOPTSTRIP',
  'TOS',
  'DSCP',
  'ECN',
  'TTL',
  'HL',
  'RATEEST',
  'SECMARK',
  'CONNSECMARK',
])

/** Whether a rule with this target makes no difference for the packet. */
export function isWithoutEffect(target: string): boolean {
  return WITHOUT_EFFECT.has(target)
}

/** The effect on the packet of a target that is not without one; that of an unknown target is uncertain. */
export function applyTarget(input: TargetInput): readonly Branch[] {
  return TARGETS.get(input.group.name)?.(input) ?? unclear(input, 'not known')
}
