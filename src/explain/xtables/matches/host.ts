import type { PacketState } from '../../packet/packet-state.ts'
import { hasOption } from '../model/rule.ts'
import { containsAddress, fitsInterface, fitsProtocol } from './ip-header.ts'
import { allOf, type MatchInput, type MatchTest, MODIFIER } from './match-test.ts'
import { inPorts } from './ports.ts'

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

/** `-m physdev`: a packet that did not come through a bridge has no port. */
export const bridgePort: MatchTest = allOf({
  '--physdev-in': ([name], { packet }) =>
    packet.bridgePort !== undefined && fitsInterface(name, packet.bridgePort),
  '--physdev-is-in': (_, { packet }) => packet.bridgePort !== undefined,
  '--physdev-out': (_, { packet }) => ofBridge(packet, 'the port of the bridge by which it leaves'),
  '--physdev-is-out': (_, { packet }) => ofBridge(packet, 'whether it leaves by a bridge'),
  '--physdev-is-bridged': (_, { packet }) => ofBridge(packet, 'whether it is bridged'),
})

/**
 * `-m socket`: no connection exists yet, so only a listening socket can match (xt_socket.c: of TCP and UDP). Without
 * `--nowildcard`, a socket that listens on any address does not count, and listings do not show whether there is
 * another one.
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
export const reversePath: MatchTest = () => ({ unknown: 'the reverse path' })

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
