import { NodeProxyError } from '../../lib/error.ts'
import type { IpAddress } from '../../lib/ip.ts'
import { familyOf, ipBytes } from '../../lib/ip.ts'
import { DatagramBatch } from '../sockets/datagram-batch.ts'
import { attachFilter } from '../sockets/packet-filter.ts'
import type { Poller } from '../sockets/poller.ts'
import type { Syscalls } from '../sockets/syscalls.ts'
import {
  AnnouncedAddresses,
  type OutgoingPacket,
  type PacketEffect,
} from './announced-addresses.ts'
import { type Link, LinkWatch } from './link-watch.ts'
import { formatMac, isEqualMac } from './mac-address.ts'
import { multicastMac, solicitedNodeGroup } from './neighbour-discovery.ts'
import type { LinkStatus, ResponderCounts, ResponderHandlers } from './neighbour-responder.ts'
import {
  admitMulticast,
  ETHERTYPE,
  joinGroup,
  linkAddress,
  macOf,
  neighbourError,
  openPacketSocket,
} from './packet-socket.ts'
import { arpFilter, neighbourFilter } from './request-filter.ts'

/** Milliseconds until sockets that could not be opened are tried again. */
const RETRY_MS = 1_000

/** The names of the counters. */
export type Counter = keyof ResponderCounts

interface LinkResponderParts {
  readonly sys: Syscalls
  readonly poller: Poller
  readonly device: string
  readonly handlers: Omit<ResponderHandlers, 'onLost'>
  readonly count: (counter: Counter) => void
}

/** A packet socket of one family, with the groups that it needs. */
interface FamilySocket {
  readonly socket: number
  /** Sockets that are members of solicited-node groups, by the Ethernet address of the group; -1: not joined. */
  readonly groups: Map<string, number>
}

/**
 * The sockets of a responder, for a thread that waits in epoll and nowhere else. It has a packet socket for a family
 * only while addresses of this family are announced, and reads at most one batch of it in a turn.
 */
export class LinkResponder {
  readonly #parts: LinkResponderParts
  readonly #watch: LinkWatch
  readonly #batch: DatagramBatch
  readonly #announced = new AnnouncedAddresses()
  readonly #sockets = new Map<4 | 6, FamilySocket>()
  #link: Link | undefined
  #status: LinkStatus | undefined
  #retryAt = Number.POSITIVE_INFINITY

  /** Throws NP_KERNEL_NEIGHBOURS. */
  constructor(parts: LinkResponderParts, now: number) {
    const { sys, poller, device } = parts
    this.#parts = parts
    this.#batch = new DatagramBatch(sys)
    this.#watch = new LinkWatch(sys, device)
    if (this.#watch.socket < 0) throw neighbourError('watch network interfaces', sys.errno())
    poller.addReadable(this.#watch.socket)
    this.#follow(now)
  }

  announce(addresses: ReadonlyMap<IpAddress, number>, now: number): void {
    this.#announced.replace(addresses, now)
    this.#adjust(now)
    this.#sendDue(now)
  }

  /** Handles a descriptor that has something to read. */
  ready(descriptor: number, now: number): void {
    if (descriptor === this.#watch.socket) {
      const hasMoved = this.#watch.takeMoves(this.#link?.index)
      this.#follow(now)
      if (hasMoved && this.#link !== undefined) this.#announced.restart(this.#link.mac, now)
      return
    }
    for (const [family, { socket }] of this.#sockets) {
      if (socket === descriptor) this.#receive(family, socket, now)
    }
  }

  /** Does what is due. */
  tick(now: number): void {
    if (this.#announced.expire(now) || this.#retryAt <= now) this.#adjust(now)
    this.#sendDue(now)
  }

  /** When `tick` must be called next. */
  nextAt(): number {
    return Math.min(this.#announced.nextAt(), this.#retryAt)
  }

  close(): void {
    this.#closeSockets()
    this.#parts.poller.remove(this.#watch.socket)
    this.#watch.close()
  }

  /** Follows the interface: other sockets for another index or Ethernet address, none while it is down or has no carrier. */
  #follow(now: number): void {
    const before = this.#link
    const link = this.#watch.read()
    const isUsable = link?.isUp === true && link.isRunning && link.isEthernet
    this.#link = isUsable ? link : undefined
    const isSame =
      before !== undefined &&
      isUsable &&
      before.index === link.index &&
      isEqualMac(before.mac, link.mac)
    if (!isSame) this.#closeSockets()
    // Also when the same interface is back (`before` is undefined then): while there was no carrier, a switch may have
    // forgotten the addresses.
    if (isUsable && !isSame) this.#announced.restart(link.mac, now)
    if (isUsable) this.#adjust(now)
    else this.#report(this.#statusOf(link))
  }

  #statusOf(link: Link | undefined): LinkStatus {
    if (link === undefined) return { state: 'absent' }
    if (!link.isUp) return { state: 'down' }
    if (!link.isRunning) return { state: 'without carrier' }
    const { device } = this.#parts
    const message = `addresses cannot be announced at ${JSON.stringify(device)}: it is no Ethernet interface`
    const hint = 'name the interface of the network from which clients reach this node'
    return { state: 'failed', error: new NodeProxyError('NP_KERNEL_NEIGHBOURS', message, { hint }) }
  }

  /**
   * Opens, changes and closes sockets, so that they fit the announced addresses. If that fails, it is tried again
   * later, and then all addresses are announced anew.
   */
  #adjust(now: number): void {
    const link = this.#link
    const isRetry = Number.isFinite(this.#retryAt)
    this.#retryAt = Number.POSITIVE_INFINITY
    if (link === undefined) return
    const addresses = this.#announced
      .list()
      .map((ip) => ({ family: familyOf(ip), bytes: ipBytes(ip) }))
    try {
      for (const family of [4, 6] as const) {
        const ofFamily = addresses.filter((address) => address.family === family)
        this.#adjustFamily(
          family,
          ofFamily.map(({ bytes }) => bytes),
          link,
        )
      }
      if (isRetry) this.#announced.restart(link.mac, now)
      this.#report({ state: 'up', mac: formatMac(link.mac) })
    } catch (error) {
      if (!(error instanceof NodeProxyError)) throw error
      this.#retryAt = now + RETRY_MS
      this.#report({ state: 'failed', error })
    }
  }

  #adjustFamily(family: 4 | 6, addresses: readonly Uint8Array[], { index }: Link): void {
    if (addresses.length === 0) return this.#closeFamily(family)
    const { sys, poller } = this.#parts
    const program = family === 4 ? arpFilter(addresses) : neighbourFilter(addresses)
    let opened = this.#sockets.get(family)
    if (opened === undefined) {
      const type = family === 4 ? ETHERTYPE.arp : ETHERTYPE.ipv6
      opened = { socket: openPacketSocket(sys, { type, index }, program), groups: new Map() }
      this.#sockets.set(family, opened)
      poller.addReadable(opened.socket)
    } else if (!attachFilter(sys, opened.socket, program)) {
      throw neighbourError('change the filter of a packet socket', sys.errno())
    }
    if (family === 6) this.#adjustGroups(opened, addresses, index)
  }

  /** The card goes on letting in groups that were left, until the socket is closed; the filter drops their packets. */
  #adjustGroups({ socket, groups }: FamilySocket, addresses: readonly Uint8Array[], index: number) {
    const { sys } = this.#parts
    const wanted = new Map(
      addresses.map(solicitedNodeGroup).map((group) => [formatMac(multicastMac(group)), group]),
    )
    for (const [key, member] of groups) {
      if (wanted.has(key)) continue
      if (member >= 0) sys.close(member)
      groups.delete(key)
    }
    for (const [key, group] of wanted) {
      if (groups.has(key)) continue
      admitMulticast(sys, socket, { index, mac: multicastMac(group) })
      groups.set(key, joinGroup(sys, group, index))
    }
  }

  #closeSockets(): void {
    for (const family of [...this.#sockets.keys()]) this.#closeFamily(family)
  }

  #closeFamily(family: 4 | 6): void {
    const opened = this.#sockets.get(family)
    if (opened === undefined) return
    const { sys, poller } = this.#parts
    poller.remove(opened.socket)
    sys.close(opened.socket)
    for (const member of opened.groups.values()) if (member >= 0) sys.close(member)
    this.#sockets.delete(family)
  }

  /** Reads one batch, and answers it; the descriptor stays ready if there is more. */
  #receive(family: 4 | 6, socket: number, now: number): void {
    const { count, handlers } = this.#parts
    const batch = this.#batch
    const received = batch.receive(socket)
    let answers = 0
    for (let slot = 0; slot < received; slot += 1) {
      const effect = this.#effectOf(family, slot, now)
      if (effect.isIgnored) count('ignored')
      if (effect.isConflict) count('conflicting')
      if (effect.report) handlers.onConflict(effect.report)
      if (effect.answer === undefined) continue
      macOf(batch.sender(slot)).set(effect.answer.to)
      batch.answer(slot, effect.answer.packet)
      answers += 1
    }
    const sent = answers === 0 ? 0 : batch.send(socket)
    for (let index = 0; index < answers; index += 1) count(index < sent ? 'answered' : 'unsent')
  }

  #effectOf(family: 4 | 6, slot: number, now: number): PacketEffect {
    const packet = this.#batch.message(slot)
    if (family === 4) return this.#announced.receiveArp(packet, now)
    return this.#announced.receiveNeighbourMessage(packet, macOf(this.#batch.sender(slot)), now)
  }

  #sendDue(now: number): void {
    for (const packet of this.#announced.takeDue(now)) this.#send(packet)
  }

  /**
   * Nothing is sent while the interface is down or the socket could not be opened; afterwards all addresses are
   * announced anew.
   */
  #send({ family, packet, to }: OutgoingPacket): void {
    const opened = this.#sockets.get(family)
    if (opened === undefined || this.#link === undefined) return
    const type = family === 4 ? ETHERTYPE.arp : ETHERTYPE.ipv6
    const address = linkAddress(type, this.#link.index, to)
    const isSent = this.#batch.sendTo(opened.socket, packet, address)
    this.#parts.count(isSent ? 'announced' : 'unsent')
  }

  #report(status: LinkStatus): void {
    const before = this.#status
    this.#status = status
    const isSame = before?.state === status.state && textOf(before) === textOf(status)
    if (!isSame) this.#parts.handlers.onLink(status)
  }
}

function textOf(status: LinkStatus): string {
  if (status.state === 'failed') return status.error.message
  return status.state === 'up' ? status.mac : ''
}
