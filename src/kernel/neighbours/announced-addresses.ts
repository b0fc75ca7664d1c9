import { formatIp, type IpAddress, ipBytes } from '../../lib/ip.ts'
import { ARP, arpAnnouncements, arpReply, decodeArp } from './arp.ts'
import { formatMac, isEqualMac } from './mac-address.ts'
import {
  ALL_NODES,
  decodeNeighbourMessage,
  encodeNeighbourMessage,
  isUnspecified,
  multicastMac,
  ND,
  type NeighbourMessage,
} from './neighbour-discovery.ts'
import type { AddressConflict } from './neighbour-responder.ts'

/** Announcements of an address, and the milliseconds between two (RFC 4861: MAX_NEIGHBOR_ADVERTISEMENT, RetransTimer). */
const MAX_ANNOUNCEMENTS = 3
const ANNOUNCEMENT_INTERVAL = 1_000
/** Milliseconds between two announcements against a conflict (RFC 5227: DEFEND_INTERVAL). */
const DEFEND_INTERVAL = 10_000
/** Milliseconds between two reports of conflicts at one address. */
const REPORT_INTERVAL = 60_000
/** Addresses that are announced in one turn of the event loop. */
const MAX_AT_ONCE = 64

const BROADCAST = Buffer.from('ffffffffffff', 'hex')
const NO_MAC = new Uint8Array(6)

/** A packet without its Ethernet header, and the Ethernet address to send it to. */
export interface OutgoingPacket {
  readonly family: 4 | 6
  readonly packet: Uint8Array
  readonly to: Uint8Array
}

/** What follows from a packet; nothing, for one that needs no answer. */
export interface PacketEffect {
  readonly answer?: OutgoingPacket
  /** A conflict that must be reported. */
  readonly report?: AddressConflict
  /** Whether another host claims an announced address; not every one is reported. */
  readonly isConflict?: boolean
  readonly isIgnored?: boolean
}

const NOTHING: PacketEffect = Object.freeze({})
const IGNORED: PacketEffect = Object.freeze({ isIgnored: true })

interface AnnouncedAddress {
  readonly ip: IpAddress
  readonly bytes: Uint8Array
  until: number
  /** When the next announcement is due, and how many follow it. */
  announceAt: number
  announcementsLeft: number
  defendedAt: number
  reportedAt: number
}

/**
 * The protocol of a responder, without sockets: answers, announcements and conflicts of a set of addresses. Times are
 * milliseconds of one monotonic clock.
 */
export class AnnouncedAddresses {
  readonly #addresses = new Map<IpAddress, AnnouncedAddress>()
  #mac: Uint8Array = NO_MAC

  /** All addresses but those that `expire` has removed. */
  list(): readonly IpAddress[] {
    return [...this.#addresses.keys()]
  }

  /** Replaces the set. Each address has the time until which it is answered. */
  replace(addresses: ReadonlyMap<IpAddress, number>, now: number): void {
    this.expire(now)
    for (const ip of this.#addresses.keys()) if (!addresses.has(ip)) this.#addresses.delete(ip)
    for (const [ip, until] of addresses) {
      const known = this.#addresses.get(ip)
      if (until <= now) this.#addresses.delete(ip)
      else if (known) known.until = until
      else this.#addresses.set(ip, newAddress(ip, until, now))
    }
  }

  /** Removes addresses that have expired; returns whether there were any. */
  expire(now: number): boolean {
    const { size } = this.#addresses
    for (const [ip, { until }] of this.#addresses) if (until <= now) this.#addresses.delete(ip)
    return this.#addresses.size < size
  }

  /** Sets the Ethernet address of the interface, and announces all addresses anew. */
  restart(mac: Uint8Array, now: number): void {
    this.#mac = Uint8Array.from(mac)
    for (const address of this.#addresses.values()) {
      address.announceAt = now
      address.announcementsLeft = MAX_ANNOUNCEMENTS
    }
  }

  /** When `takeDue` or `expire` has something to do; infinite without an address. */
  nextAt(): number {
    let next = Number.POSITIVE_INFINITY
    for (const { until, announceAt } of this.#addresses.values()) {
      next = Math.min(next, until, announceAt)
    }
    return next
  }

  /** The announcements that are due, of at most 64 addresses; more follow at once. */
  takeDue(now: number): readonly OutgoingPacket[] {
    const due: AnnouncedAddress[] = []
    for (const address of this.#addresses.values()) {
      if (due.length === MAX_AT_ONCE) break
      if (address.announceAt <= now && now < address.until) due.push(address)
    }
    for (const address of due) {
      address.announcementsLeft -= 1
      const isLast = address.announcementsLeft <= 0
      address.announceAt = isLast ? Number.POSITIVE_INFINITY : now + ANNOUNCEMENT_INTERVAL
    }
    return due.flatMap(({ bytes }) => announcements(bytes, this.#mac))
  }

  /** Takes a packet from its ARP header on. */
  receiveArp(bytes: Uint8Array, now: number): PacketEffect {
    const request = decodeArp(bytes)
    if (request === undefined) return IGNORED
    const { operation, senderMac, senderIp, targetIp } = request
    if (isEqualMac(senderMac, this.#mac)) return NOTHING
    const claimed = this.#find(senderIp, now)
    if (claimed !== undefined) return this.#conflict(claimed, senderMac, now)
    if (operation !== ARP.request || this.#find(targetIp, now) === undefined) return NOTHING
    const packet = arpReply(request, this.#mac)
    return { answer: { family: 4, packet, to: Uint8Array.from(senderMac) } }
  }

  /** Takes a packet from its IPv6 header on, which `senderMac` sent. */
  receiveNeighbourMessage(bytes: Uint8Array, senderMac: Uint8Array, now: number): PacketEffect {
    const message = decodeNeighbourMessage(bytes)
    if (message === undefined) return IGNORED
    const mac = message.linkAddress ?? senderMac
    const address = this.#find(message.target, now)
    if (address === undefined || isEqualMac(mac, this.#mac)) return NOTHING
    if (message.type === ND.advertisement) return this.#conflict(address, mac, now)
    return { answer: neighbourAnswer(message, mac, this.#mac) }
  }

  #find(bytes: Uint8Array, now: number): AnnouncedAddress | undefined {
    const address = this.#addresses.get(formatIp(bytes))
    return address !== undefined && now < address.until ? address : undefined
  }

  #conflict(address: AnnouncedAddress, mac: Uint8Array, now: number): PacketEffect {
    if (now - address.defendedAt >= DEFEND_INTERVAL) {
      address.defendedAt = now
      address.announceAt = now
      address.announcementsLeft = Math.max(address.announcementsLeft, 1)
    }
    if (now - address.reportedAt < REPORT_INTERVAL) return { isConflict: true }
    address.reportedAt = now
    return { isConflict: true, report: { ip: address.ip, mac: formatMac(mac) } }
  }
}

function newAddress(ip: IpAddress, until: number, now: number): AnnouncedAddress {
  return {
    ip,
    bytes: ipBytes(ip),
    until,
    announceAt: now,
    announcementsLeft: MAX_ANNOUNCEMENTS,
    defendedAt: Number.NEGATIVE_INFINITY,
    reportedAt: Number.NEGATIVE_INFINITY,
  }
}

/** A solicitation of duplicate address detection has no sender, and is answered to all nodes (RFC 4861, 7.2.4). */
function neighbourAnswer(
  { source, target }: NeighbourMessage,
  to: Uint8Array,
  mac: Uint8Array,
): OutgoingPacket {
  if (isUnspecified(source)) return advertisement(target, mac)
  const packet = encodeNeighbourMessage({
    type: ND.advertisement,
    source: target,
    destination: source,
    target,
    solicited: true,
    override: true,
    linkAddress: mac,
  })
  return { family: 6, packet, to: Uint8Array.from(to) }
}

function announcements(ip: Uint8Array, mac: Uint8Array): readonly OutgoingPacket[] {
  if (ip.length === 16) return [advertisement(ip, mac)]
  return arpAnnouncements(ip, mac).map((packet) => ({ family: 4, packet, to: BROADCAST }))
}

/** An unsolicited advertisement to all nodes, which replaces the entries that they have. */
function advertisement(ip: Uint8Array, mac: Uint8Array): OutgoingPacket {
  const packet = encodeNeighbourMessage({
    type: ND.advertisement,
    source: ip,
    destination: ALL_NODES,
    target: ip,
    solicited: false,
    override: true,
    linkAddress: mac,
  })
  return { family: 6, packet, to: multicastMac(ALL_NODES) }
}
