import { familyOf, type IpAddress, parseIp } from '../../../lib/ip.ts'
import { rangeBetween } from '../../../lib/ip-range.ts'
import { type Branch, branchOf } from '../../packet/branch.ts'
import { type Translation, translate } from '../../packet/packet-state.ts'
import { optionValue } from '../model/rule.ts'
import {
  result,
  type TargetEffect,
  type TargetInput,
  unclear,
  unknownOption,
} from './target-effect.ts'

/** Clients are distributed evenly over a range of addresses; with more addresses than this the outcome is uncertain. */
const MAX_ADDRESSES = 256n
const KNOWN = new Set([
  '--to-destination',
  '--to-source',
  '--to-ports',
  '--random',
  '--random-fully',
  '--persistent',
])

/** DNAT: `10.0.0.1:80`, `[fd00::1]:80`, `:80`, ranges of addresses and ports. */
export const dnat: TargetEffect = (input) => toList(input, 'destination', '--to-destination')

/** SNAT. */
export const snat: TargetEffect = (input) => toList(input, 'source', '--to-source')

/**
 * MASQUERADE: translates to the address of the interface through which the packet leaves; without an address it is
 * dropped.
 */
export const masquerade: TargetEffect = (input) => {
  const { packet, world, group } = input
  const odd = unknownOption(group, KNOWN)
  if (odd !== undefined) return unclear(input, odd)
  const { outInterface, gateway, dst } = packet
  if (outInterface === undefined) return unclear(input, 'the interface by which the packet leaves')
  const ip = world.facts.masqueradeAddress(
    outInterface,
    packet.family === 4 ? (gateway ?? dst) : dst,
  )
  if (ip !== undefined) return result(translate(packet, 'source', { ip }), 'accept')
  const reason = `MASQUERADE: ${outInterface} has no address`
  return [branchOf(packet, { kind: 'drop', reason })]
}

/** REDIRECT: translates to the loopback address, or that of the interface through which the packet came. */
export const redirect: TargetEffect = (input) => {
  const { packet, world, group, hook } = input
  const odd = unknownOption(group, KNOWN)
  if (odd !== undefined) return unclear(input, odd)
  const loopback = (packet.family === 4 ? '127.0.0.1' : '::1') as IpAddress
  const ip =
    hook === 'output' || packet.inInterface === undefined
      ? loopback
      : world.facts.masqueradeAddress(packet.inInterface, packet.src)
  if (ip === undefined) return [branchOf(packet, { kind: 'drop', reason: 'REDIRECT: no address' })]
  const port = onePort(optionValue(group, '--to-ports'), packet.dstPort)
  if (port === 'several') return unclear(input, 'several ports')
  return result(translate(packet, 'destination', { ip, port }), 'accept')
}

function toList(input: TargetInput, translation: Translation, name: string): readonly Branch[] {
  const { packet, group } = input
  const odd = unknownOption(group, KNOWN)
  const to = parseTo(optionValue(group, name) ?? '')
  if (odd !== undefined || to === undefined) return unclear(input, odd ?? 'its addresses')
  const port = onePort(to.ports, translation === 'destination' ? packet.dstPort : undefined)
  if (port === 'several' && translation === 'destination') return unclear(input, 'several ports')
  const places = { port: port === 'several' ? undefined : port }
  if (to.addresses.length === 0) return result(translate(packet, translation, places), 'accept')
  return to.addresses.map((ip) => ({
    ...branchOf(translate(packet, translation, { ...places, ip }), { kind: 'accept' }),
    probability: 1 / to.addresses.length,
  }))
}

const TO = /^(?:\[([^\]]+)\]|([0-9.-]*)|([0-9a-fA-F:.-]+))(?::(\d+(?:-\d+)?(?:\/\d+)?))?$/

interface Targets {
  /** Empty if the packet keeps its address. */
  readonly addresses: readonly IpAddress[]
  readonly ports: string | undefined
}

function parseTo(text: string): Targets | undefined {
  const found = TO.exec(text)
  if (found === null) return undefined
  const range = found[1] ?? found[2] ?? found[3] ?? ''
  const ports = found[4]
  if (range === '') return { addresses: [], ports }
  const [first, last = first] = range.split('-').map((part) => parseIp(part))
  if (first === undefined || last === undefined || familyOf(first) !== familyOf(last))
    return undefined
  const all = rangeBetween(first, last)
  if (all === undefined || all.size > MAX_ADDRESSES) return undefined
  const addresses = Array.from({ length: Number(all.size) }, (_, at) => all.at(BigInt(at)))
  return { addresses, ports }
}

/** The port of a range: the packet's own port if it is in the range. */
function onePort(
  ports: string | undefined,
  own: number | undefined,
): number | undefined | 'several' {
  if (ports === undefined) return undefined
  const [first = 0, last = first] = ports.replace(/\/.*$/, '').split('-').map(Number)
  if (first === last) return first
  return own !== undefined && own >= first && own <= last ? own : 'several'
}
