import { NodeProxyError } from '../../lib/error.ts'
import { SOCK } from '../sockets/constants.ts'
import { attachFilter, type FilterInstruction } from '../sockets/packet-filter.ts'
import { errnoName, type Syscalls } from '../sockets/syscalls.ts'
import { MAC_BYTES } from './mac-address.ts'

/** linux/socket.h */
const AF_INET6 = 10
const AF_PACKET = 17

/** linux/if_ether.h */
export const ETHERTYPE = { arp: 0x0806, ipv6: 0x86dd } as const

/** `struct sockaddr_ll` of linux/if_packet.h: family, protocol, index, hardware type, packet type, length, address. */
const ADDRESS_BYTES = 20
const AT = { protocol: 2, index: 4, macLength: 11, mac: 12 } as const

/** linux/if_packet.h: level and options, and the type PACKET_MR_MULTICAST of `struct packet_mreq`. */
const SOL_PACKET = 263
const PACKET_ADD_MEMBERSHIP = 1
const PACKET_MR_MULTICAST = 0
const PACKET_MREQ_BYTES = 16
/** linux/in6.h: IPV6_JOIN_GROUP, with `struct ipv6_mreq`. */
const IPPROTO_IPV6 = 41
const IPV6_JOIN_GROUP = 20
const IPV6_MREQ_BYTES = 20

const FLAGS = SOCK.dgram | SOCK.nonBlocking | SOCK.closeOnExec

/** Throws NP_KERNEL_NEIGHBOURS if this process may not open packet sockets. */
export function checkPacketSockets(sys: Syscalls): void {
  // With the protocol 0 it receives nothing.
  const socket = sys.socket(AF_PACKET, FLAGS, 0)
  if (socket < 0) throw neighbourError('open a packet socket', sys.errno())
  sys.close(socket)
}

/**
 * Opens a socket for the packets of one Ethernet type at one interface that the filter keeps; it reads and sends packets
 * without their Ethernet header. Throws NP_KERNEL_NEIGHBOURS.
 */
export function openPacketSocket(
  sys: Syscalls,
  { type, index }: { readonly type: number; readonly index: number },
  program: readonly FilterInstruction[],
): number {
  const socket = sys.socket(AF_PACKET, FLAGS, 0)
  if (socket < 0) throw neighbourError('open a packet socket', sys.errno())
  const memory = sys.allocate(ADDRESS_BYTES)
  memory.bytes.set(linkAddress(type, index))
  // The filter comes first: until it is bound, the socket receives nothing.
  const isOk =
    attachFilter(sys, socket, program) && sys.bind(socket, memory.address, ADDRESS_BYTES) === 0
  if (isOk) return socket
  const errno = sys.errno()
  sys.close(socket)
  throw neighbourError(`bind a packet socket to interface ${index}`, errno)
}

/** The address of packets to send: an Ethernet type, the index of an interface, and an Ethernet address. */
export function linkAddress(type: number, index: number, mac?: Uint8Array): Uint8Array {
  const address = new Uint8Array(ADDRESS_BYTES)
  const view = new DataView(address.buffer)
  view.setUint16(0, AF_PACKET, true)
  view.setUint16(AT.protocol, type)
  view.setInt32(AT.index, index, true)
  view.setUint8(AT.macLength, MAC_BYTES)
  if (mac !== undefined) address.set(mac, AT.mac)
  return address
}

/** The Ethernet address in a socket address: a view. */
export function macOf(address: Uint8Array): Uint8Array {
  return address.subarray(AT.mac, AT.mac + MAC_BYTES)
}

/**
 * Makes a card let in the frames to a multicast address while the packet socket is open. Returns whether it was done; a
 * card that lets in everything does not need it.
 */
export function admitMulticast(
  sys: Syscalls,
  socket: number,
  { index, mac }: { readonly index: number; readonly mac: Uint8Array },
): boolean {
  const { view, bytes, address } = sys.allocate(PACKET_MREQ_BYTES)
  view.setInt32(0, index, true)
  view.setUint16(4, PACKET_MR_MULTICAST, true)
  view.setUint16(6, MAC_BYTES, true)
  bytes.set(mac, 8)
  return sys.setsockopt(socket, SOL_PACKET, PACKET_ADD_MEMBERSHIP, address, PACKET_MREQ_BYTES) === 0
}

/**
 * Joins an IPv6 multicast group, so that switches that snoop on MLD send its packets here, too. Returns a socket whose
 * closing leaves the group, or -1: IPv6 may be disabled at the interface. One socket for each group, because the
 * kernel limits those of a socket.
 */
export function joinGroup(sys: Syscalls, group: Uint8Array, index: number): number {
  const socket = sys.socket(AF_INET6, FLAGS, 0)
  if (socket < 0) return -1
  const { view, bytes, address } = sys.allocate(IPV6_MREQ_BYTES)
  bytes.set(group)
  view.setInt32(group.length, index, true)
  const length = IPV6_MREQ_BYTES
  if (sys.setsockopt(socket, IPPROTO_IPV6, IPV6_JOIN_GROUP, address, length) === 0) return socket
  sys.close(socket)
  return -1
}

/** An error of a system call that a responder needs. */
export function neighbourError(what: string, errno: number): NodeProxyError {
  const code = errnoName(errno)
  const needsRight = code === 'EPERM' || code === 'EACCES'
  const message = `addresses cannot be announced: cannot ${what}: ${code}`
  const hint = needsRight ? 'give node-proxy CAP_NET_RAW' : undefined
  return new NodeProxyError('NP_KERNEL_NEIGHBOURS', message, hint === undefined ? {} : { hint })
}
