import { formatIp, type IpAddress, ipBytes } from '../../lib/ip.ts'

/** An address in the kernel's form: `struct sockaddr_in` or `sockaddr_in6`. */
export type SocketAddress = Uint8Array

/** linux/socket.h */
export const AF_INET = 2
export const AF_INET6 = 10

/** The size of the longest form, `sockaddr_in6`. */
export const SOCKET_ADDRESS_BYTES = 28

const INET_BYTES = 16
/** The offset of the IP address: after family, port and, in IPv6, flow information. */
const INET_AT = 4
const INET6_AT = 8

/** The kernel's form of an address and port. */
export function socketAddress(ip: IpAddress, port: number): SocketAddress {
  return socketAddressOf(ipBytes(ip), port)
}

/** Like `socketAddress`, with the 4 or 16 bytes of the IP address. */
export function socketAddressOf(ip: Uint8Array, port: number): SocketAddress {
  const isIpv6 = ip.length === 16
  const bytes = new Uint8Array(isIpv6 ? SOCKET_ADDRESS_BYTES : INET_BYTES)
  const view = new DataView(bytes.buffer)
  view.setUint16(0, isIpv6 ? AF_INET6 : AF_INET, true)
  view.setUint16(2, port)
  bytes.set(ip, isIpv6 ? INET6_AT : INET_AT)
  return bytes
}

/** The port of an address. */
export function portOf(address: SocketAddress): number {
  return ((address[2] ?? 0) << 8) | (address[3] ?? 0)
}

/** The 4 or 16 bytes of the IP address: a view, not a copy. */
export function ipPart(address: SocketAddress): Uint8Array {
  return address[0] === AF_INET6
    ? address.subarray(INET6_AT, INET6_AT + 16)
    : address.subarray(INET_AT, INET_AT + 4)
}

/** The IP address, in canonical text. */
export function ipOf(address: SocketAddress): IpAddress {
  return formatIp(ipPart(address))
}

/** A key for maps: a short text that is equal for equal IP address and port. */
export function addressKey(address: SocketAddress): string {
  return latin1Text(address.subarray(2, 4)) + latin1Text(ipPart(address))
}

/** A key for maps: a short text that is equal for equal IP addresses. */
export function ipKey(address: SocketAddress): string {
  return latin1Text(ipPart(address))
}

/** A key for maps, equal for all ports of a host: its IPv4 address, or the first 64 bits of its IPv6 address. */
export function hostKey(address: SocketAddress): string {
  return latin1Text(ipPart(address).subarray(0, 8))
}

function latin1Text({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('latin1')
}
