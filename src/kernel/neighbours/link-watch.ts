import { findAttribute } from '../netlink/attribute.ts'
import { decodeMessages } from '../netlink/message.ts'
import { ERRNO, SOCK } from '../sockets/constants.ts'
import type { NativeMemory, Syscalls } from '../sockets/syscalls.ts'
import { isUnicastMac, MAC_BYTES } from './mac-address.ts'

/** linux/socket.h, linux/netlink.h and linux/rtnetlink.h: the group of changes of interfaces. */
const AF_NETLINK = 16
const NETLINK_ROUTE = 0
const RTMGRP_LINK = 1
const NETLINK_ADDRESS_BYTES = 12
const NETLINK_GROUPS_AT = 8

/** linux/if_link.h: IFLA_EVENT, and those of its values after which neighbours must hear of a host again. */
const RTM_NEWLINK = 16
const IFINFOMSG = 16
const INDEX_AT = 4
const IFLA_EVENT = 44
/** IFLA_EVENT_BONDING_FAILOVER, IFLA_EVENT_NOTIFY_PEERS. */
const MOVED: ReadonlySet<number> = new Set([3, 4])

/** linux/sockios.h; `struct ifreq` is a name and, behind it, what the request is for. */
const SIOCGIFFLAGS = 0x8913
const SIOCGIFHWADDR = 0x8927
const SIOCGIFINDEX = 0x8933
const NAME_BYTES = 16
const IFREQ_BYTES = 40
/** net/if_arp.h, net/if.h. */
const ARPHRD_ETHER = 1
const IFF_UP = 0x1
const IFF_RUNNING = 0x40

const MESSAGE_BYTES = 32 * 1024
/** Datagrams that are read in one turn; one more than this is read in the next. */
const MAX_AT_ONCE = 16

/** A network interface that is there. */
export interface Link {
  readonly index: number
  readonly mac: Uint8Array
  readonly isEthernet: boolean
  readonly isUp: boolean
  /** Whether it has a carrier. */
  readonly isRunning: boolean
}

/** One network interface by its name, and the notifications of the kernel about changes of interfaces. */
export class LinkWatch {
  readonly #sys: Syscalls
  readonly #device: string
  readonly #request: NativeMemory
  readonly #messages: NativeMemory
  /** A netlink socket; -1 if it could not be opened (`errno`). */
  readonly socket: number

  constructor(sys: Syscalls, device: string) {
    this.#sys = sys
    this.#device = device
    this.#request = sys.allocate(IFREQ_BYTES)
    this.#messages = sys.allocate(MESSAGE_BYTES)
    this.socket = this.#open()
  }

  /** The interface as it is now; undefined if there is none of this name. */
  read(): Link | undefined {
    if (!this.#query(SIOCGIFINDEX)) return undefined
    const { view, bytes } = this.#request
    const index = view.getInt32(NAME_BYTES, true)
    if (!this.#query(SIOCGIFHWADDR)) return undefined
    const hardware = view.getUint16(NAME_BYTES, true)
    const mac = Uint8Array.from(bytes.subarray(NAME_BYTES + 2, NAME_BYTES + 2 + MAC_BYTES))
    if (!this.#query(SIOCGIFFLAGS)) return undefined
    const flags = view.getUint16(NAME_BYTES, true)
    return {
      index,
      mac,
      isEthernet: hardware === ARPHRD_ETHER && isUnicastMac(mac),
      isUp: (flags & IFF_UP) !== 0,
      isRunning: (flags & IFF_RUNNING) !== 0,
    }
  }

  /**
   * Reads the notifications that wait. Returns whether the interface with this index moved to another place in the
   * network: a bond changed its active port, or a virtual machine its host. It may have if notifications were lost.
   */
  takeMoves(index: number | undefined): boolean {
    let hasMoved = false
    for (let count = 0; count < MAX_AT_ONCE; count += 1) {
      const length = this.#sys.recv(this.socket, this.#messages.address, MESSAGE_BYTES, 0)
      if (length < 0 && this.#sys.errno() === ERRNO.noBuffers) {
        hasMoved = true
        continue
      }
      if (length <= 0) break
      for (const { type, payload } of decodeMessages(this.#messages.bytes.subarray(0, length))) {
        if (type !== RTM_NEWLINK || payload.length < IFINFOMSG) continue
        const event = findAttribute(payload, IFLA_EVENT, IFINFOMSG)
        const isMove = event?.length === 4 && MOVED.has(event.readUInt32LE())
        if (isMove && payload.readInt32LE(INDEX_AT) === index) hasMoved = true
      }
    }
    return hasMoved
  }

  close(): void {
    this.#sys.close(this.socket)
  }

  #query(request: number): boolean {
    this.#request.bytes.fill(0)
    this.#request.bytes.write(this.#device, 0, NAME_BYTES - 1, 'latin1')
    return this.#sys.ioctl(this.socket, request, this.#request.address) === 0
  }

  #open(): number {
    const type = SOCK.raw | SOCK.nonBlocking | SOCK.closeOnExec
    const socket = this.#sys.socket(AF_NETLINK, type, NETLINK_ROUTE)
    if (socket < 0) return -1
    const { view, bytes, address } = this.#messages
    bytes.fill(0, 0, NETLINK_ADDRESS_BYTES)
    view.setUint16(0, AF_NETLINK, true)
    view.setUint32(NETLINK_GROUPS_AT, RTMGRP_LINK, true)
    if (this.#sys.bind(socket, address, NETLINK_ADDRESS_BYTES) === 0) return socket
    this.#sys.close(socket)
    return -1
  }
}
