import { familyOf, type IpAddress, parseIp } from '../../../lib/ip.ts'
import { rangeBetween } from '../../../lib/ip-range.ts'
import { type Branch, branchOf } from '../../packet/branch.ts'
import { type Translation, translate } from '../../packet/packet-state.ts'
import { hasOption, optionValue } from '../model/rule.ts'
import {
  result,
  type TargetEffect,
  type TargetInput,
  unclear,
  unknownOption,
} from './target-effect.ts'

/** The options of these targets that a walk evaluates, or that do not change what it predicts. */
const KNOWN = new Set([
  '--to-destination',
  '--to-source',
  '--to-ports',
  '--random',
  '--random-fully',
  '--persistent',
])

/** DNAT: translates the destination to `10.0.0.1:80`, `[fd00::1]:80`, `:80`, or into ranges of addresses and ports. */
export const dnat: TargetEffect = (input) => translateTo(input, 'destination', '--to-destination')

/** SNAT: translates the source in the same way. */
export const snat: TargetEffect = (input) => translateTo(input, 'source', '--to-source')

/**
 * MASQUERADE: translates the source to the address of the interface through which the packet leaves. If the interface
 * has no address, the packet is dropped.
 */
export const masquerade: TargetEffect = (input) => {
  const { packet, world, group } = input
  const odd = unknownOption(group, KNOWN)
  if (odd !== undefined) return unclear(input, odd)
  const { outInterface, gateway, dst } = packet
  if (outInterface === undefined) return unclear(input, 'the interface by which the packet leaves')
  // The kernel chooses the address for the next hop in IPv4, and for the destination in IPv6.
  const ip = world.facts.masqueradeAddress(
    outInterface,
    packet.family === 4 ? (gateway ?? dst) : dst,
  )
  if (ip !== undefined) return result(translate(packet, 'source', { ip }), 'accept')
  const reason = `MASQUERADE: ${outInterface} has no address`
  return [branchOf(packet, { kind: 'drop', reason })]
}

/**
 * REDIRECT: translates the destination to the address of the interface through which the packet came, or to the
 * loopback address if the packet comes from this node.
 */
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
  const port = onePort(optionValue(group, '--to-ports'), ownPort(input))
  if (port === 'several') return unclear(input, 'several ports')
  return result(translate(packet, 'destination', { ip, port }), 'accept')
}

/**
 * The effect of DNAT or SNAT. Clients are distributed evenly over a range of addresses, so each address is one branch
 * with its probability. The walk does not follow a source port that is chosen from a range.
 */
function translateTo(
  input: TargetInput,
  translation: Translation,
  name: string,
): readonly Branch[] {
  const { packet, group } = input
  const odd = unknownOption(group, KNOWN)
  const to = parseTo(optionValue(group, name) ?? '')
  if (odd !== undefined || to === undefined) return unclear(input, odd ?? 'its addresses')
  const port = onePort(to.ports, translation === 'destination' ? ownPort(input) : undefined)
  if (port === 'several' && translation === 'destination') return unclear(input, 'several ports')
  const translated = { port: port === 'several' ? undefined : port }
  if (to.addresses.length === 0) return result(translate(packet, translation, translated), 'accept')
  return to.addresses.map((ip) => ({
    ...branchOf(translate(packet, translation, { ...translated, ip }), { kind: 'accept' }),
    probability: 1 / to.addresses.length,
  }))
}

/** The value of `--to-destination` or `--to-source`. */
interface Targets {
  /** Empty if the packet keeps its address. */
  readonly addresses: readonly IpAddress[]
  /** `80`, `80-90` or `80-90/8080`; undefined if the packet keeps its port. */
  readonly ports: string | undefined
}

/** With more addresses in a range than this, the effect counts as uncertain. */
const MAX_ADDRESSES = 256n
/** Groups: an IPv6 address or range in brackets, one of IPv4, one of IPv6; ports. */
const TO = /^(?:\[([^\]]+)\]|([0-9.-]*)|([0-9a-fA-F:.-]+))(?::(\d+(?:-\d+)?(?:\/\d+)?))?$/

/** Undefined if the text is not valid, or its range has more than `MAX_ADDRESSES` addresses. */
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

/** The port that the packet may keep; undefined if the kernel chooses one at random. */
function ownPort({ packet, group }: TargetInput): number | undefined {
  const isRandom = hasOption(group, '--random') || hasOption(group, '--random-fully')
  return isRandom ? undefined : packet.dstPort
}

/**
 * The port that the kernel chooses from `ports`: the packet's own port if it is in the range, or, with a base port after
 * `/`, the port at the same distance from the first one as the packet's own port has from the base
 * (`nf_nat_l4proto_unique_tuple`). `several` if the choice cannot be predicted; undefined without `ports`.
 */
function onePort(
  ports: string | undefined,
  own: number | undefined,
): number | undefined | 'several' {
  if (ports === undefined) return undefined
  const [range = '', base] = ports.split('/')
  const [first = 0, last = first] = range.split('-').map(Number)
  if (first === last) return first
  if (own === undefined) return 'several'
  if (base !== undefined) return first + (((own - Number(base)) & 0xff_ff) % (last - first + 1))
  return own >= first && own <= last ? own : 'several'
}
