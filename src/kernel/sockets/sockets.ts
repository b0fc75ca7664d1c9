import { NodeProxyError } from '../../lib/error.ts'
import { familyOf, hostPort, type IpAddress } from '../../lib/ip.ts'
import { ERRNO, MSG, OPTION, type OptionName, SHUT_WR, SIOCOUTQNSD, SOCK } from './constants.ts'
import {
  AF_INET,
  AF_INET6,
  SOCKET_ADDRESS_BYTES,
  type SocketAddress,
  socketAddress,
} from './socket-address.ts'
import { errnoName, type NativeMemory, type Syscalls } from './syscalls.ts'

const SOCKET_FLAGS = SOCK.nonBlocking | SOCK.closeOnExec
/** The maximum number of clients that may wait to be accepted. */
const BACKLOG = 4096

/** Probes begin after 60 s without data; the connection is closed after six without an answer, 10 s apart. */
const KEEP_ALIVE: readonly (readonly [OptionName, number])[] = [
  ['keepAlive', 1],
  ['keepIdle', 60],
  ['keepInterval', 10],
  ['keepCount', 6],
]
/** The errors of a machine or process without free memory or descriptors. */
const EXHAUSTED: ReadonlySet<number> = new Set([
  ERRNO.noMemory,
  ERRNO.noBuffers,
  ERRNO.tooManyFiles,
  ERRNO.tooManyFilesInSystem,
])

/** Offsets in the scratch memory. */
const OFFSET = { address: 0, length: 32, value: 40 } as const
const SCRATCH_BYTES = 64

/** See `Sockets.listenTcp` and `Sockets.bindUdp`. */
export interface ListenOptions {
  /** IP_TRANSPARENT: the socket may answer with addresses that this machine does not have; needs CAP_NET_ADMIN. */
  readonly transparent?: boolean
  /** SO_REUSEPORT: several sockets share the address, and the kernel spreads clients over them. */
  readonly shared?: boolean
}

/**
 * Opens and uses non-blocking sockets, which are descriptors. A method that returns -1 has failed; `sys.errno()` has
 * the reason. Addresses that methods return are views that the next call overwrites.
 */
export class Sockets {
  readonly sys: Syscalls
  readonly #scratch: NativeMemory
  readonly #address: bigint
  readonly #length: bigint
  readonly #value: bigint

  constructor(sys: Syscalls) {
    this.sys = sys
    this.#scratch = sys.allocate(SCRATCH_BYTES)
    const { address } = this.#scratch
    this.#address = address
    this.#length = address + BigInt(OFFSET.length)
    this.#value = address + BigInt(OFFSET.value)
  }

  /**
   * Opens a listening socket. Accepted sockets inherit TCP_NODELAY, SO_OOBINLINE and keepalive. Throws
   * NP_KERNEL_SOCKET.
   */
  listenTcp(ip: IpAddress, port: number, options: ListenOptions = {}): number {
    const socket = this.#openBound(SOCK.stream, { ip, port }, options)
    this.set(socket, 'noDelay', 1)
    this.set(socket, 'urgentInline', 1)
    this.keepAlive(socket)
    if (this.sys.listen(socket, BACKLOG) === 0) return socket
    throw this.#closedWithError(socket, `listen on ${hostPort(ip, port)}`)
  }

  /** Opens a socket whose received datagrams carry their destination address. Throws NP_KERNEL_SOCKET. */
  bindUdp(ip: IpAddress, port: number, options: ListenOptions = {}): number {
    const socket = this.#openBound(SOCK.dgram, { ip, port }, options)
    this.set(socket, familyOf(ip) === 6 ? 'destination6' : 'destination4', 1)
    return socket
  }

  /** Opens a socket for datagrams without their destination. Throws NP_KERNEL_SOCKET. */
  bindDatagrams(ip: IpAddress, port: number): number {
    return this.#openBound(SOCK.dgram, { ip, port }, {})
  }

  /**
   * Returns the socket of the next client, and writes its address to `peer` (`SOCKET_ADDRESS_BYTES`); -1 on failure.
   */
  accept(listener: number, peer: Uint8Array): number {
    const { view, bytes } = this.#scratch
    view.setUint32(OFFSET.length, SOCKET_ADDRESS_BYTES, true)
    const client = this.sys.accept4(listener, this.#address, this.#length, SOCKET_FLAGS)
    if (client >= 0) peer.set(bytes.subarray(0, SOCKET_ADDRESS_BYTES))
    return client
  }

  /**
   * The address to which the client of an accepted connection connected, before rules of this node translated it;
   * undefined if conntrack does not know the connection.
   */
  originalDestination(socket: number, isIpv6: boolean): SocketAddress | undefined {
    const [level, option] = OPTION[isIpv6 ? 'originalDestination6' : 'originalDestination4']
    const { view, bytes } = this.#scratch
    view.setUint32(OFFSET.length, SOCKET_ADDRESS_BYTES, true)
    const result = this.sys.getsockopt(socket, level, option, this.#address, this.#length)
    return result === 0 ? bytes.subarray(0, view.getUint32(OFFSET.length, true)) : undefined
  }

  /** The address and port that a socket is bound to. */
  localAddress(socket: number): SocketAddress {
    const { view, bytes } = this.#scratch
    view.setUint32(OFFSET.length, SOCKET_ADDRESS_BYTES, true)
    this.sys.getsockname(socket, this.#address, this.#length)
    return bytes.subarray(0, view.getUint32(OFFSET.length, true))
  }

  /** Opens a socket and begins to connect it, with a packet mark unless it is 0; -1 if that failed at once. */
  connect(type: 'tcp' | 'udp', target: SocketAddress, mark: number): number {
    const family = target[0] === AF_INET6 ? AF_INET6 : AF_INET
    const kind = type === 'tcp' ? SOCK.stream : SOCK.dgram
    const socket = this.sys.socket(family, kind | SOCKET_FLAGS, 0)
    if (socket < 0) return -1
    if (mark !== 0) this.set(socket, 'mark', mark)
    this.#scratch.bytes.set(target, OFFSET.address)
    const isOk = this.sys.connect(socket, this.#address, target.length) === 0
    if (isOk || this.sys.errno() === ERRNO.inProgress) return socket
    this.sys.close(socket)
    return -1
  }

  /**
   * Whether a call that has just failed did so because this machine or process has no free memory or descriptors; after a
   * call that succeeded this is undefined.
   */
  get isExhausted(): boolean {
    return EXHAUSTED.has(this.sys.errno())
  }

  /** Sets an option with an integer value. Returns false on failure. */
  set(socket: number, name: OptionName, value: number): boolean {
    const [level, option] = OPTION[name]
    this.#scratch.view.setInt32(OFFSET.value, value, true)
    return this.sys.setsockopt(socket, level, option, this.#value, 4) === 0
  }

  /** Enables TCP keepalive: after silence the kernel probes the other end. */
  keepAlive(socket: number): void {
    for (const [name, value] of KEEP_ALIVE) this.set(socket, name, value)
  }

  /** The number of bytes of a TCP socket that were never sent; 0 if the kernel does not report it. */
  unsent(socket: number): number {
    const isKnown = this.sys.ioctl(socket, SIOCOUTQNSD, this.#value) === 0
    return isKnown ? this.#scratch.view.getInt32(OFFSET.value, true) : 0
  }

  /** Sends FIN, after which nothing more is sent. */
  endWriting(socket: number): void {
    this.sys.shutdown(socket, SHUT_WR)
  }

  /** Makes a following close send RST instead of FIN. */
  resetOnClose(socket: number): void {
    const [level, option] = OPTION.linger
    const { view } = this.#scratch
    view.setInt32(OFFSET.value, 1, true)
    view.setInt32(OFFSET.value + 4, 0, true)
    this.sys.setsockopt(socket, level, option, this.#value, 8)
  }

  /** Sends `length` bytes of `memory`, beginning at the offset `from`; returns how many were sent, or -1. */
  send(socket: number, memory: NativeMemory, length: number, from = 0): number {
    return this.sys.send(socket, memory.address + BigInt(from), length, MSG.noSignal)
  }

  /** Opens a socket and binds it to an address and port. Throws NP_KERNEL_SOCKET. */
  #openBound(
    type: number,
    { ip, port }: { readonly ip: IpAddress; readonly port: number },
    { transparent = false, shared = false }: ListenOptions,
  ): number {
    const isIpv6 = familyOf(ip) === 6
    const what = `listen on ${hostPort(ip, port)}`
    const socket = this.sys.socket(isIpv6 ? AF_INET6 : AF_INET, type | SOCKET_FLAGS, 0)
    if (socket < 0) throw this.#closedWithError(-1, what)
    if (isIpv6) this.set(socket, 'only6', 1)
    if (type === SOCK.stream) this.set(socket, 'reuseAddress', 1)
    if (shared) this.set(socket, 'reusePort', 1)
    if (transparent && !this.set(socket, isIpv6 ? 'transparent6' : 'transparent4', 1)) {
      throw this.#closedWithError(socket, `take redirected packets at ${hostPort(ip, port)}`)
    }
    const target = socketAddress(ip, port)
    this.#scratch.bytes.set(target, OFFSET.address)
    if (this.sys.bind(socket, this.#address, target.length) === 0) return socket
    throw this.#closedWithError(socket, what)
  }

  /** Closes the socket, if there is one, and returns the error of the last call; its cause has the error's name as code. */
  #closedWithError(socket: number, what: string): NodeProxyError {
    const code = errnoName(this.sys.errno())
    if (socket >= 0) this.sys.close(socket)
    const cause = Object.assign(new Error(code), { code })
    return new NodeProxyError('NP_KERNEL_SOCKET', `cannot ${what}: ${code}`, { cause })
  }
}
