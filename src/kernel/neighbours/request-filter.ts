import { ALL_BYTES, BPF, type FilterInstruction } from '../sockets/packet-filter.ts'

/** linux/filter.h: SKF_AD_OFF + SKF_AD_PKTTYPE, how the packet came; linux/if_packet.h: PACKET_OTHERHOST. */
const PACKET_TYPE = 0xffff_f004
const OTHER_HOST = 3

/** Addresses that a filter lists. A jump skips at most 255 instructions, and ARP needs two for each address. */
const MAX_LISTED = 100

/** The value that a packet must have at an offset in bytes. */
type Check = readonly [load: number, offset: number, value: number]

/** An ARP packet for Ethernet and IPv4. */
const ARP_CHECKS: readonly Check[] = [
  [BPF.loadWord, 0, 0x0001_0800],
  [BPF.loadHalf, 4, 0x0604],
]
/** Offsets of the addresses of sender and target in ARP. */
const ARP_ADDRESSES = [14, 24]

/** An ICMPv6 message that was sent on this link. */
const ND_CHECKS: readonly Check[] = [
  [BPF.loadByte, 6, 58],
  [BPF.loadByte, 7, 255],
]
const ND_TYPE = 40
const ND_FIRST_TYPE = 135
const ND_LAST_TYPE = 136
/** Offset of the last four bytes of the target. */
const ND_TARGET = [60]

/**
 * Keeps ARP packets with one of the addresses (4 bytes) as target or sender; of more than 100, all. No other packet
 * wakes the process.
 */
export function arpFilter(addresses: readonly Uint8Array[]): readonly FilterInstruction[] {
  return filter([...notForOthers(), ...checks(ARP_CHECKS)], ARP_ADDRESSES, words(addresses))
}

/**
 * Keeps neighbour solicitations and advertisements for targets that end with the same 32 bits as one of the addresses
 * (16 bytes); of more than 100, all.
 */
export function neighbourFilter(addresses: readonly Uint8Array[]): readonly FilterInstruction[] {
  const isNeighbourMessage: readonly FilterInstruction[] = [
    [BPF.loadByte, 0, 0, ND_TYPE],
    [BPF.jumpIfAtLeast, 1, 0, ND_FIRST_TYPE],
    [BPF.return, 0, 0, 0],
    [BPF.jumpIfAtLeast, 0, 1, ND_LAST_TYPE + 1],
    [BPF.return, 0, 0, 0],
  ]
  const first = [...notForOthers(), ...checks(ND_CHECKS), ...isNeighbourMessage]
  return filter(first, ND_TARGET, words(addresses))
}

/**
 * Drops frames for other hosts, which a card in promiscuous mode lets in, those of VLANs that are not ours, and those that
 * this host sends: PACKET_OUTGOING is greater than PACKET_OTHERHOST.
 */
function notForOthers(): readonly FilterInstruction[] {
  return [
    [BPF.loadWord, 0, 0, PACKET_TYPE],
    [BPF.jumpIfAtLeast, 0, 1, OTHER_HOST],
    [BPF.return, 0, 0, 0],
  ]
}

function checks(all: readonly Check[]): readonly FilterInstruction[] {
  return all.flatMap(([load, offset, value]): FilterInstruction[] => [
    [load, 0, 0, offset],
    [BPF.jumpIfEqual, 1, 0, value],
    [BPF.return, 0, 0, 0],
  ])
}

function filter(
  first: readonly FilterInstruction[],
  offsets: readonly number[],
  values: readonly number[],
): readonly FilterInstruction[] {
  const keep: FilterInstruction = [BPF.return, 0, 0, ALL_BYTES]
  if (values.length > MAX_LISTED) return [...first, keep]
  const comparisons = offsets.flatMap((offset): FilterInstruction[] => [
    [BPF.loadWord, 0, 0, offset],
    ...values.map((value): FilterInstruction => [BPF.jumpIfEqual, 0, 0, value]),
  ])
  const all: FilterInstruction[] = [...first, ...comparisons, [BPF.return, 0, 0, 0], keep]
  const end = all.length - 1
  return all.map(([code, jt, jf, operand], index) => {
    const isComparison = index >= first.length && code === BPF.jumpIfEqual
    return isComparison ? [code, end - index - 1, 0, operand] : [code, jt, jf, operand]
  })
}

/** The last four bytes of each address, without repetition. */
function words(addresses: readonly Uint8Array[]): readonly number[] {
  const all = addresses.map((ip) => Buffer.from(ip).readUInt32BE(ip.length - 4))
  return [...new Set(all)]
}
