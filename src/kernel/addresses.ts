import { getSystemErrorName } from 'node:util'
import type { Clock } from '../lib/clock.ts'
import { NodeProxyError } from '../lib/error.ts'
import { type Family, formatIp, type IpAddress } from '../lib/ip.ts'
import { findAttribute, findText } from './netlink/attribute.ts'
import type { NetlinkMessage, OutgoingMessage } from './netlink/message.ts'
import { NetlinkSession, type Visit } from './netlink/session.ts'
import type { OpenTransport } from './netlink/transport.ts'
import { watchGroups } from './netlink/watch-groups.ts'

/** An address of a network interface. */
export interface InterfaceAddress {
  readonly family: Family
  readonly ip: IpAddress
  /** The name of the interface, which may be down. */
  readonly device: string
  readonly scope: 'global' | 'link' | 'host'
}

/** The addresses of this network namespace's interfaces. */
export interface Addresses {
  /** Sorted by interface index, then in the kernel's order. Rejects with NP_KERNEL_NETLINK. */
  list(): Promise<readonly InterfaceAddress[]>
  /**
   * Calls back soon after an address was added or removed; `list` then has the new state. Returns a function that
   * stops this.
   */
  watch(onChange: () => void): () => void
}

/** Message types and attributes of linux/rtnetlink.h, if_addr.h and if_link.h. */
const RTM_NEWLINK = 16
const RTM_GETLINK = 18
const RTM_NEWADDR = 20
const RTM_DELADDR = 21
const RTM_GETADDR = 22
const IFA_ADDRESS = 1
const IFA_LOCAL = 2
const IFLA_IFNAME = 3
/** The sizes of `struct ifaddrmsg` and `struct ifinfomsg` in bytes. */
const IFADDRMSG = 8
const IFINFOMSG = 16
/** linux/socket.h */
const AF_INET = 2
const AF_INET6 = 10
/** enum rt_scope_t. Every other scope is wider than a link, and counts as global. */
const SCOPES: Readonly<Record<number, InterfaceAddress['scope']>> = { 253: 'link', 254: 'host' }

/** The request RTM_GETLINK for all interfaces. */
export const LINK_DUMP: OutgoingMessage = {
  type: RTM_GETLINK,
  flags: 0,
  payload: Buffer.alloc(IFINFOMSG),
}
/** The request RTM_GETADDR for all addresses of both families. */
const ADDRESS_DUMP: OutgoingMessage = {
  type: RTM_GETADDR,
  flags: 0,
  payload: Buffer.alloc(IFADDRMSG),
}

/** Multicast groups RTNLGRP_IPV4_IFADDR and RTNLGRP_IPV6_IFADDR (linux/rtnetlink.h). */
const ADDRESS_GROUPS = [5, 9]

/**
 * Addresses by rtnetlink. Unlike `os.networkInterfaces()` it includes those of interfaces that are down, which the
 * kernel also treats as local.
 */
export class NetlinkAddresses implements Addresses {
  readonly #open: OpenTransport
  readonly #clock: Clock

  constructor(open: OpenTransport, clock: Clock) {
    this.#open = open
    this.#clock = clock
  }

  async list(): Promise<readonly InterfaceAddress[]> {
    const session = new NetlinkSession(this.#open, this.#clock)
    try {
      const names = new Map<number, string>()
      await dump(session, LINK_DUMP, () => {
        names.clear()
        return (message) => {
          const link = decodeLink(message)
          if (link !== undefined) names.set(...link)
        }
      })
      const found = new Map<string, IndexedAddress>()
      await dump(session, ADDRESS_DUMP, () => {
        found.clear()
        return (message) => {
          const address = decodeAddress(message)
          if (address !== undefined) found.set(`${address.index} ${address.ip}`, address)
        }
      })
      const sorted = [...found.values()].sort((a, b) => a.index - b.index)
      return sorted.map(({ index, ...address }) => ({ ...address, device: names.get(index) ?? '' }))
    } finally {
      session.close()
    }
  }

  watch(onChange: () => void): () => void {
    const concerns = ({ type }: NetlinkMessage) => type === RTM_NEWADDR || type === RTM_DELADDR
    const parts = { open: this.#open, clock: this.#clock }
    return watchGroups(parts, { groups: ADDRESS_GROUPS, concerns }, onChange)
  }
}

async function dump(
  session: NetlinkSession,
  what: OutgoingMessage,
  begin: () => Visit,
): Promise<void> {
  const errno = await session.dump(what, begin)
  if (errno === 0) return
  const reason = getSystemErrorName(-errno)
  throw new NodeProxyError('NP_KERNEL_NETLINK', `interface addresses cannot be listed: ${reason}`)
}

/** Index and name of an interface from an RTM_NEWLINK; undefined for any other message. */
export function decodeLink(message: NetlinkMessage): readonly [number, string] | undefined {
  if (message.type !== RTM_NEWLINK || message.payload.length < IFINFOMSG) return undefined
  const name = findText(message.payload, IFLA_IFNAME, IFINFOMSG)
  return name === undefined ? undefined : [message.payload.readInt32LE(4), name]
}

/** An address with the index of its interface in place of the name. */
interface IndexedAddress extends Omit<InterfaceAddress, 'device'> {
  readonly index: number
}

/**
 * Reads the address of an RTM_NEWADDR; undefined for another message or family. IFA_LOCAL, if it is present, is the
 * address of this node. On a point-to-point link IFA_ADDRESS is the address of the other end.
 */
function decodeAddress(message: NetlinkMessage): IndexedAddress | undefined {
  const { payload } = message
  if (message.type !== RTM_NEWADDR || payload.length < IFADDRMSG) return undefined
  const value =
    findAttribute(payload, IFA_LOCAL, IFADDRMSG) ?? findAttribute(payload, IFA_ADDRESS, IFADDRMSG)
  const family = payload[0] === AF_INET ? 4 : payload[0] === AF_INET6 ? 6 : undefined
  if (family === undefined || value?.length !== (family === 4 ? 4 : 16)) return undefined
  return {
    family,
    ip: formatIp(value),
    scope: SCOPES[payload[3] ?? 0] ?? 'global',
    index: payload.readUInt32LE(4),
  }
}
