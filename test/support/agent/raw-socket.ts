import { dlopen } from 'node:ffi'
import { formatIp, parseIpBytes } from '../../../src/lib/ip.ts'

const SOCK_RAW_NONBLOCK = 3 | 0o4000
const AF = { v4: 2, v6: 10 } as const
const SOL_SOCKET = 1
const SO_ERROR = 4
const ECONNREFUSED = 111

const { functions: libc } = dlopen('libc.so.6', {
  socket: { return: 'i32', arguments: ['i32', 'i32', 'i32'] },
  bind: { return: 'i32', arguments: ['i32', 'pointer', 'u32'] },
  connect: { return: 'i32', arguments: ['i32', 'pointer', 'u32'] },
  send: { return: 'i64', arguments: ['i32', 'pointer', 'u64', 'i32'] },
  sendto: { return: 'i64', arguments: ['i32', 'pointer', 'u64', 'i32', 'pointer', 'u32'] },
  recvfrom: { return: 'i64', arguments: ['i32', 'pointer', 'u64', 'i32', 'pointer', 'pointer'] },
  getsockopt: { return: 'i32', arguments: ['i32', 'i32', 'i32', 'pointer', 'pointer'] },
  close: { return: 'i32', arguments: ['i32'] },
})

export interface RawPacket {
  /** Everything after the IP header. */
  readonly payload: Buffer
  /** The sender's address as text. */
  readonly from: string
}

/** A raw IP socket of one protocol, bound to one address; for protocols for which the kernel has no sockets. */
export interface RawSocket {
  /** Sends to `ip`, or to the connected peer. */
  send(packet: Buffer, ip?: string): void
  /** The next packet that has arrived, without waiting. */
  receive(): RawPacket | undefined
  /** Whether an ICMP error reported that no process receives the packets. */
  isRefused(): boolean
  close(): void
}

export function openRaw(protocol: number, local: string, peer?: string): RawSocket {
  const v6 = local.includes(':')
  const fd = libc.socket(v6 ? AF.v6 : AF.v4, SOCK_RAW_NONBLOCK, protocol)
  if (fd < 0) throw new Error(`no raw socket for protocol ${protocol}`)
  const address = socketAddress(local)
  if (libc.bind(fd, address, address.length) !== 0) throw new Error(`cannot bind ${local}`)
  if (peer !== undefined) {
    const to = socketAddress(peer)
    if (libc.connect(fd, to, to.length) !== 0) throw new Error(`no route to ${peer}`)
  }
  return {
    send(packet, ip) {
      if (ip === undefined) libc.send(fd, packet, BigInt(packet.length), 0)
      else sendTo(fd, packet, socketAddress(ip))
    },
    receive: () => receive(fd, v6),
    isRefused: () => pendingError(fd) === ECONNREFUSED,
    close: () => void libc.close(fd),
  }
}

function sendTo(fd: number, packet: Buffer, to: Buffer): void {
  libc.sendto(fd, packet, BigInt(packet.length), 0, to, to.length)
}

function receive(fd: number, v6: boolean): RawPacket | undefined {
  const packet = Buffer.alloc(2048)
  const from = Buffer.alloc(28)
  const size = Buffer.alloc(4)
  size.writeUInt32LE(from.length)
  const length = Number(libc.recvfrom(fd, packet, BigInt(packet.length), 0, from, size))
  if (length <= 0) return undefined
  if (v6) return { payload: packet.subarray(0, length), from: formatIp(from.subarray(8, 24)) }
  const headerLength = ((packet[0] ?? 0) & 15) * 4
  return { payload: packet.subarray(headerLength, length), from: from.subarray(4, 8).join('.') }
}

function pendingError(fd: number): number {
  const value = Buffer.alloc(4)
  const size = Buffer.alloc(4)
  size.writeUInt32LE(4)
  libc.getsockopt(fd, SOL_SOCKET, SO_ERROR, value, size)
  return value.readInt32LE()
}

/** struct sockaddr_in or sockaddr_in6, port 0. */
function socketAddress(ip: string): Buffer {
  const bytes = parseIpBytes(ip)
  if (bytes === undefined) throw new Error(`not an address: ${ip}`)
  const address = Buffer.alloc(bytes.length === 4 ? 16 : 28)
  address.writeUInt16LE(bytes.length === 4 ? AF.v4 : AF.v6)
  address.set(bytes, bytes.length === 4 ? 4 : 8)
  return address
}
