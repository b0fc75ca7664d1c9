import type { PacketState } from '../../packet/packet-state.ts'
import type { Answer } from '../model/answer.ts'
import { hasOption } from '../model/rule.ts'
import { containsAddress, fitsInterface, fitsProtocol } from './ip-header.ts'
import { allOf, type MatchInput, type MatchTest, MODIFIER, type OptionTest } from './match-test.ts'

/** Ephemeral ports of a client on another machine may be any of these, most likely 32768 and higher. */
const EPHEMERAL = { first: 1024, last: 65_535 }
const LIKELY = { first: 32_768, last: 60_999 }

const source: OptionTest = ([list], { packet }) => inPorts(list, packet.srcPort)
const destination: OptionTest = ([list], { packet }) => inPorts(list, packet.dstPort)

/** `-m tcp`: the first packet has SYN alone. */
export const tcp: MatchTest = allOf({
  '--sport': source,
  '--dport': destination,
  '--tcp-flags': ([mask = '', set = '']) => {
    const looksAtSyn = mask === 'ALL' || mask.split(',').includes('SYN')
    const wanted = set === 'NONE' ? '' : set
    return (looksAtSyn ? 'SYN' : '') === wanted
  },
})

/** `-m udp`, `-m sctp`. */
export const udp: MatchTest = allOf({ '--sport': source, '--dport': destination })

/** `-m multiport`: lists of ports and ranges. */
export const multiport: MatchTest = allOf({
  '--sports': source,
  '--dports': destination,
  '--ports': ([list], { packet }) => {
    const one = inPorts(list, packet.dstPort)
    return one === true ? true : inPorts(list, packet.srcPort)
  },
})

/** `-m addrtype`. */
export const addressType: MatchTest = allOf({
  '--src-type': ([types], input) => hasType(types, input.packet.src, input),
  '--dst-type': ([types], input) => hasType(types, input.packet.dst, input),
  '--limit-iface-in': MODIFIER,
  '--limit-iface-out': MODIFIER,
})

/** `-m ipvs`. */
export const ipvs: MatchTest = (input) =>
  input.group.options.some(({ name, isNegated }) => name === '--ipvs' && isNegated)
    ? input.packet.virtualServer === undefined
    : input.packet.virtualServer !== undefined && ipvsOptions(input)

const ipvsOptions = allOf({
  '--ipvs': MODIFIER,
  '--vproto': ([name], { packet }) => fitsProtocol(name, packet.protocol),
  '--vaddr': ([range], { packet }) =>
    containsAddress(range, packet.virtualServer?.ip ?? packet.dst),
  '--vport': ([port], { packet }) => inPorts(port, packet.virtualServer?.port),
  '--vdir': ([direction]) => direction === 'ORIGINAL',
  '--vmethod': ([method]) => ({ unknown: `the forwarding method ${method}` }),
})

/** `-m physdev`: a packet that came over no bridge has no port. */
export const bridgePort: MatchTest = allOf({
  '--physdev-in': ([name], { packet }) =>
    packet.bridgePort !== undefined && fitsInterface(name, packet.bridgePort),
  '--physdev-is-in': (_, { packet }) => packet.bridgePort !== undefined,
  '--physdev-out': (_, { packet }) => ofBridge(packet, 'the port of the bridge by which it leaves'),
  '--physdev-is-out': (_, { packet }) => ofBridge(packet, 'whether it leaves by a bridge'),
  '--physdev-is-bridged': (_, { packet }) => ofBridge(packet, 'whether it is bridged'),
})

/**
 * `-m socket`: no connection is open yet, so only a listening socket can be meant (xt_socket.c: of TCP and UDP). Without
 * `--nowildcard` one that listens on any address does not count, and listings do not show whether there is another one.
 */
export const socket: MatchTest = ({ packet, world, group }) => {
  if (packet.protocol === 'SCTP') return false
  const isHeard = world.facts.listens(packet.protocol, { ip: packet.dst, port: packet.dstPort })
  if (isHeard === 'none') return false
  const isExact = isHeard === undefined || !hasOption(group, '--nowildcard')
  if (isExact || hasOption(group, '--transparent')) {
    return { unknown: `which socket takes ${packet.dst} port ${packet.dstPort}` }
  }
  return !hasOption(group, '--restore-skmark') || { unknown: 'the mark of the socket' }
}

/** `-m rpfilter`. */
export const reversePath: MatchTest = ({ packet, world, group }) => {
  const isGood = world.facts.reversePath?.(packet)
  if (isGood === undefined || hasOption(group, '--loose')) return { unknown: 'the reverse path' }
  return hasOption(group, '--invert') ? !isGood : isGood
}

/** `-m pkttype`. */
export const packetType: MatchTest = allOf({
  '--pkt-type': ([type], { packet, world }) => {
    const kind = world.facts.addressType(packet.dst)
    const actual = kind === 'broadcast' || kind === 'multicast' ? kind : 'unicast'
    return type === actual
  },
})

function hasType(
  types = '',
  ip: PacketState['src'],
  { packet, world, group }: MatchInput,
): boolean {
  const on = hasOption(group, '--limit-iface-in')
    ? packet.inInterface
    : hasOption(group, '--limit-iface-out')
      ? packet.outInterface
      : undefined
  const actual = world.facts.addressType(ip, on).toUpperCase().replace('UNSPECIFIED', 'UNSPEC')
  return types.split(',').includes(actual)
}

function ofBridge({ bridgePort: port }: PacketState, unknown: string) {
  return port === undefined ? false : { unknown }
}

/** `80`, `80:90` or `80,443,8000:8100`; of an unknown port the answer may be unknown. */
export function inPorts(list: string | undefined, port: number | undefined): Answer {
  const ranges = (list ?? '').split(',').map((part) => {
    const [first = '0', last = first] = part.split(':')
    return { first: Number(first === '' ? '0' : first), last: Number(last === '' ? '65535' : last) }
  })
  if (port !== undefined) return ranges.some(({ first, last }) => port >= first && port <= last)
  if (ranges.some((one) => one.first <= LIKELY.first && one.last >= LIKELY.last)) return true
  const isPossible = ranges.some(
    (one) => one.last >= EPHEMERAL.first && one.first <= EPHEMERAL.last,
  )
  return isPossible ? { unknown: `whether the source port is in ${list}` } : false
}
