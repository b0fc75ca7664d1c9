import { type ArpPacket, decodeArp, encodeArp } from '../../../src/kernel/neighbours/arp.ts'
import { formatMac } from '../../../src/kernel/neighbours/mac-address.ts'
import {
  ALL_NODES,
  decodeNeighbourMessage,
  encodeNeighbourMessage,
  multicastMac,
  ND,
  type NeighbourMessage,
  solicitedNodeGroup,
} from '../../../src/kernel/neighbours/neighbour-discovery.ts'
import { SOCK } from '../../../src/kernel/sockets/constants.ts'
import { openSyscalls } from '../../../src/kernel/sockets/syscalls.ts'
import { familyOf, type IpAddress, ipBytes } from '../../../src/lib/ip.ts'

const AF_PACKET = 17
const ETH_P_ALL = 0x0003
const PACKET_OUTGOING = 4
const ETHERNET_BYTES = 14
const ETHERTYPE = { 4: 0x0806, 6: 0x86dd } as const
const SIOCGIFINDEX = 0x8933
const BROADCAST = Buffer.from('ffffffffffff', 'hex')
const FRAME_BYTES = 2_048

/** A frame that the host received. */
export interface Frame {
  /** When it was read, in milliseconds of `performance.now`. */
  readonly at: number
  readonly source: string
  readonly destination: string
  readonly arp: ArpPacket | undefined
  readonly message: NeighbourMessage | undefined
}

/** A host of the link that speaks through a raw socket: it sees every frame, and says what a test wants. */
export class OtherHost {
  readonly #sys = openSyscalls()!
  readonly #memory = this.#sys.allocate(FRAME_BYTES)
  readonly #address = this.#sys.allocate(24)
  readonly #socket: number
  readonly mac: Uint8Array

  constructor(device: string, mac: string) {
    this.mac = Buffer.from(mac.replaceAll(':', ''), 'hex')
    const type = SOCK.raw | SOCK.nonBlocking | SOCK.closeOnExec
    this.#socket = this.#sys.socket(AF_PACKET, type, 0)
    const { view, bytes, address } = this.#address
    view.setUint16(0, AF_PACKET, true)
    view.setUint16(2, ETH_P_ALL)
    view.setInt32(4, this.#indexOf(device), true)
    bytes.fill(0, 8)
    if (this.#sys.bind(this.#socket, address, 20) !== 0) throw new Error(`cannot bind ${device}`)
  }

  /** The frames that wait. */
  receive(): readonly Frame[] {
    const frames: Frame[] = []
    for (let next = this.#next(); next; next = this.#next()) if (next !== 'own') frames.push(next)
    return frames
  }

  /** A request or solicitation by which a host resolves an address. */
  request(ip: IpAddress, from: IpAddress): void {
    const [target, source] = [ipBytes(ip), ipBytes(from)]
    if (familyOf(ip) === 4) {
      const targetMac = new Uint8Array(6)
      const request = { operation: 1, senderMac: this.mac, senderIp: source, targetMac }
      return this.send(BROADCAST, 4, encodeArp({ ...request, targetIp: target }))
    }
    const destination = solicitedNodeGroup(target)
    const flags = { solicited: false, override: false, linkAddress: this.mac }
    const message = { type: ND.solicitation, source, destination, target, ...flags }
    this.send(multicastMac(destination), 6, encodeNeighbourMessage(message))
  }

  /** Claims an address with an Ethernet address. */
  announce(ip: IpAddress, mac: string): void {
    const own = Buffer.from(mac.replaceAll(':', ''), 'hex')
    const target = ipBytes(ip)
    if (familyOf(ip) === 4) {
      const both = { senderIp: target, targetIp: target, senderMac: own, targetMac: own }
      return this.send(BROADCAST, 4, encodeArp({ operation: 2, ...both }))
    }
    const flags = { solicited: false, override: true, linkAddress: own }
    const addresses = { source: target, destination: ALL_NODES, target }
    const message = { type: ND.advertisement, ...addresses, ...flags }
    this.send(multicastMac(ALL_NODES), 6, encodeNeighbourMessage(message))
  }

  send(to: Uint8Array, family: 4 | 6, packet: Uint8Array): void {
    const { bytes, view, address } = this.#memory
    bytes.set(to, 0)
    bytes.set(this.mac, 6)
    view.setUint16(12, ETHERTYPE[family])
    bytes.set(packet, ETHERNET_BYTES)
    this.#sys.send(this.#socket, address, ETHERNET_BYTES + packet.length, 0)
  }

  close(): void {
    this.#sys.close(this.#socket)
  }

  #next(): Frame | 'own' | undefined {
    const { bytes, address } = this.#memory
    const from = this.#address
    const header = this.#sys.allocate(64)
    header.view.setBigUint64(0, from.address, true)
    header.view.setUint32(8, 20, true)
    const vector = this.#sys.allocate(16)
    vector.view.setBigUint64(0, address, true)
    vector.view.setBigUint64(8, BigInt(FRAME_BYTES), true)
    header.view.setBigUint64(16, vector.address, true)
    header.view.setBigUint64(24, 1n, true)
    const length = this.#sys.recvmsg(this.#socket, header.address, 0)
    if (length < 0) return undefined
    if (from.bytes[10] === PACKET_OUTGOING) return 'own'
    const frame = Uint8Array.prototype.slice.call(bytes, 0, length)
    const packet = frame.subarray(ETHERNET_BYTES)
    const type = (frame[12]! << 8) | frame[13]!
    return {
      at: performance.now(),
      destination: formatMac(frame.subarray(0, 6)),
      source: formatMac(frame.subarray(6, 12)),
      arp: type === ETHERTYPE[4] ? decodeArp(packet) : undefined,
      message: type === ETHERTYPE[6] ? decodeNeighbourMessage(packet) : undefined,
    }
  }

  #indexOf(device: string): number {
    const request = this.#sys.allocate(40)
    request.bytes.write(device, 0, 'latin1')
    this.#sys.ioctl(this.#socket, SIOCGIFINDEX, request.address)
    return request.view.getInt32(16, true)
  }
}
