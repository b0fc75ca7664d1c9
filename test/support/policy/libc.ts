import { dlopen } from 'node:ffi'
import { closeSync, openSync } from 'node:fs'
import { endFastCalls } from '../../../src/kernel/sockets/fast-calls.ts'
import { parseIpBytes } from '../../../src/lib/ip.ts'

const AF = { v4: 2, v6: 10 } as const
const TCP = 6
const RAW = 3
const KINDS = {
  TCP: { type: 1, protocol: 0 },
  UDP: { type: 2, protocol: 0 },
  /** Packets, with their IP header over IPv4: a copy of each that is received. */
  'TCP packets': { type: RAW, protocol: TCP },
  'SCTP packets': { type: RAW, protocol: 132 },
} as const
const TCP_MAXSEG = 2
const NONBLOCK = 0o4000
const CLONE_NEWNET = 0x40000000
const SOL_SOCKET = 1
const SO = { reuseAddress: 2, error: 4, receiveBuffer: 8, linger: 13 } as const
const IPPROTO_IPV6 = 41
const IPV6_V6ONLY = 26
const ECONNREFUSED = 111

endFastCalls()
const { functions: libc } = dlopen('libc.so.6', {
  setns: { return: 'i32', arguments: ['i32', 'i32'] },
  socket: { return: 'i32', arguments: ['i32', 'i32', 'i32'] },
  bind: { return: 'i32', arguments: ['i32', 'pointer', 'u32'] },
  listen: { return: 'i32', arguments: ['i32', 'i32'] },
  accept4: { return: 'i32', arguments: ['i32', 'pointer', 'pointer', 'i32'] },
  connect: { return: 'i32', arguments: ['i32', 'pointer', 'u32'] },
  send: { return: 'i64', arguments: ['i32', 'pointer', 'u64', 'i32'] },
  recv: { return: 'i64', arguments: ['i32', 'pointer', 'u64', 'i32'] },
  sendto: { return: 'i64', arguments: ['i32', 'pointer', 'u64', 'i32', 'pointer', 'u32'] },
  recvfrom: { return: 'i64', arguments: ['i32', 'pointer', 'u64', 'i32', 'pointer', 'pointer'] },
  getsockopt: { return: 'i32', arguments: ['i32', 'i32', 'i32', 'pointer', 'pointer'] },
  setsockopt: { return: 'i32', arguments: ['i32', 'i32', 'i32', 'pointer', 'u32'] },
  poll: { return: 'i32', arguments: ['pointer', 'u64', 'i32'] },
  close: { return: 'i32', arguments: ['i32'] },
})

const POLLIN = 1

/** Moves this thread between network namespaces; sockets stay where they were opened. */
export class Namespaces {
  readonly #fds = new Map<string, number>()
  #current = ''

  enter(name: string): void {
    if (name === this.#current) return
    const fd = this.#fds.get(name) ?? openSync(`/run/netns/${name}`, 'r')
    this.#fds.set(name, fd)
    if (libc.setns(fd, CLONE_NEWNET) !== 0) throw new Error(`cannot enter the namespace ${name}`)
    this.#current = name
  }

  /** Forgets a namespace that is removed. */
  leave(name: string): void {
    const fd = this.#fds.get(name)
    if (fd !== undefined) closeSync(fd)
    this.#fds.delete(name)
    if (name === this.#current) this.#current = ''
  }
}

/** struct sockaddr_in or sockaddr_in6. */
export function socketAddress(ip: string, port: number): Buffer {
  const bytes = parseIpBytes(ip)
  if (bytes === undefined) throw new Error(`not an address: ${ip}`)
  const address = Buffer.alloc(bytes.length === 4 ? 16 : 28)
  address.writeUInt16LE(bytes.length === 4 ? AF.v4 : AF.v6)
  address.writeUInt16BE(port, 2)
  address.set(bytes, bytes.length === 4 ? 4 : 8)
  return address
}

/**
 * Opens a socket in the thread's namespace, bound to `ip`, which never blocks; kinds of packets have no port. Throws if it
 * cannot be bound.
 */
export function openSocket(kind: keyof typeof KINDS, ip: string, port: number): number {
  const isV6 = ip.includes(':')
  const { type, protocol } = KINDS[kind]
  const fd = libc.socket(isV6 ? AF.v6 : AF.v4, type | NONBLOCK, protocol)
  if (fd < 0) throw new Error(`no socket for ${kind}`)
  if (kind === 'TCP') {
    setOption(fd, SOL_SOCKET, SO.linger, [1, 0])
    setOption(fd, SOL_SOCKET, SO.reuseAddress, [1])
  } else setOption(fd, SOL_SOCKET, SO.receiveBuffer, [4_194_304])
  if (isV6 && type !== RAW) setOption(fd, IPPROTO_IPV6, IPV6_V6ONLY, [1])
  const address = socketAddress(ip, type === RAW ? 0 : port)
  if (libc.bind(fd, address, address.length) !== 0) throw new Error(`cannot bind ${ip} ${port}`)
  return fd
}

/** The maximum segment size in the SYN of a connection that is not open yet; paths must have a larger one. */
export function announceSegment(fd: number, bytes: number): void {
  setOption(fd, TCP, TCP_MAXSEG, [bytes])
}

function setOption(fd: number, level: number, name: number, values: readonly number[]): void {
  const option = Buffer.alloc(4 * values.length)
  for (const [index, value] of values.entries()) option.writeInt32LE(value, 4 * index)
  libc.setsockopt(fd, level, name, option, option.length)
}

export function listen(fd: number): void {
  if (libc.listen(fd, 4096) !== 0) throw new Error('cannot listen')
}

/** The next connection that waits; undefined if there is none. */
export function accept(fd: number): number | undefined {
  const accepted = libc.accept4(fd, null, null, NONBLOCK)
  return accepted < 0 ? undefined : accepted
}

/** Starts to connect; how it ends is known when the socket has events. */
export function connect(fd: number, address: Buffer): void {
  libc.connect(fd, address, address.length)
}

export function send(fd: number, bytes: Buffer): void {
  libc.send(fd, bytes, BigInt(bytes.length), 0x4000)
}

/** Returns whether the kernel took the packet. */
export function sendTo(fd: number, bytes: Buffer, address: Buffer): boolean {
  return libc.sendto(fd, bytes, BigInt(bytes.length), 0, address, address.length) >= 0n
}

/** What a TCP socket has received; empty at the end of the stream, undefined after an error. */
export function receive(fd: number, into: Buffer): Buffer | undefined {
  const length = Number(libc.recv(fd, into, BigInt(into.length), 0))
  return length < 0 ? undefined : into.subarray(0, length)
}

const sizeOfAddress = Buffer.alloc(4)

/** The next packet that waits, and its sender in `from` (28 bytes); undefined if there is none. */
export function receiveFrom(fd: number, into: Buffer, from: Buffer): Buffer | undefined {
  sizeOfAddress.writeUInt32LE(from.length)
  const size = BigInt(into.length)
  const length = Number(libc.recvfrom(fd, into, size, 0, from, sizeOfAddress))
  return length <= 0 ? undefined : into.subarray(0, length)
}

const option = Buffer.alloc(4)
const sizeOfOption = Buffer.alloc(4)

/** Whether the socket was refused, by a reset or an ICMP error. */
export function isRefused(fd: number): boolean {
  sizeOfOption.writeUInt32LE(4)
  libc.getsockopt(fd, SOL_SOCKET, SO.error, option, sizeOfOption)
  return option.readInt32LE() === ECONNREFUSED
}

/** Closes a socket; a TCP connection by a reset. */
export function close(fd: number): void {
  libc.close(fd)
}

/** Waits up to `timeoutMs` for events of sockets, and returns those that have some, by their index. */
export function poll(fds: readonly number[], timeoutMs: number): readonly number[] {
  const list = Buffer.alloc(8 * fds.length)
  for (const [index, fd] of fds.entries()) {
    list.writeInt32LE(fd, 8 * index)
    list.writeInt16LE(POLLIN, 8 * index + 4)
  }
  if (libc.poll(list, BigInt(fds.length), timeoutMs) <= 0) return []
  const ready: number[] = []
  for (let index = 0; index < fds.length; index++) {
    if (list.readInt16LE(8 * index + 6) !== 0) ready.push(index)
  }
  return ready
}
