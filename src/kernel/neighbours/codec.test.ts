import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatIp } from '../../lib/ip.ts'
import { type ArpPacket, decodeArp, encodeArp } from './arp.ts'
import { formatMac } from './mac-address.ts'
import {
  decodeNeighbourMessage,
  encodeNeighbourMessage,
  multicastMac,
  type NeighbourMessage,
  solicitedNodeGroup,
} from './neighbour-discovery.ts'

/** Captured from Linux: a request and its reply, a solicitation, its advertisement, and one of address detection. */
const CAPTURED = {
  request: '0001080006040001020000000002c0000202000000000000c0000201',
  reply: '0001080006040002020000000001c0000201020000000002c0000202',
  solicitation:
    '6000000000203aff20010db8000000000000000000000002ff0200000000000000000001ff000001' +
    '87001c270000000020010db80000000000000000000000010101020000000002',
  advertisement:
    '6000000000203aff20010db800000000000000000000000120010db8000000000000000000000002' +
    '88008a736000000020010db80000000000000000000000010201020000000001',
  detection:
    '6000000000203aff00000000000000000000000000000000ff0200000000000000000001ff000002' +
    '870091260000000020010db80000000000000000000000020e015bf293d7bdf1',
} as const
const captured = (name: keyof typeof CAPTURED) => Buffer.from(CAPTURED[name], 'hex')
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
const unicastMac = bytes(6).map((mac) =>
  Uint8Array.from(mac, (byte, at) => (at ? byte : (byte & 0xfe) | 2)),
)
const unicastIp = bytes(16).map((ip) => Uint8Array.from(ip, (byte, at) => (at ? byte : 0x20)))

describe('ARP', () => {
  test.each(['request', 'reply'] as const)(
    'a %s of Linux, with the padding of Ethernet',
    (name) => {
      const packet = captured(name)
      const decoded = decodeArp(Buffer.concat([packet, Buffer.alloc(18)]))!
      expect([formatMac(decoded.senderMac), formatIp(decoded.senderIp)]).toEqual(
        name === 'request'
          ? ['02:00:00:00:00:02', '192.0.2.2']
          : ['02:00:00:00:00:01', '192.0.2.1'],
      )
      expect(hex(encodeArp(decoded))).toBe(CAPTURED[name])
    },
  )

  const packets: fc.Arbitrary<ArpPacket> = fc.record({
    operation: fc.constantFrom(1, 2),
    senderMac: unicastMac,
    senderIp: bytes(4),
    targetMac: bytes(6),
    targetIp: bytes(4),
  })

  test('what is written is read again', () => {
    fc.assert(
      fc.property(packets, (packet) => {
        expect(decodeArp(encodeArp(packet))).toEqual(packet)
      }),
    )
  })

  test.each([
    ['hardware that is not Ethernet', 1, 6],
    ['a protocol that is not IPv4', 2, 0x86],
    ['another size of Ethernet addresses', 4, 8],
    ['another size of IP addresses', 5, 16],
    ['an operation of RARP', 7, 3],
    ['a group as its sender', 8, 1],
  ])('%s is refused', (_, at, value) => {
    const packet = captured('request')
    packet[at] = value
    expect(decodeArp(packet)).toBeUndefined()
  })

  test('an interface without an address is no sender', () => {
    expect(decodeArp(captured('request').fill(0, 8, 14))).toBeUndefined()
  })

  test('a packet that is cut off anywhere is refused', () => {
    for (let end = 0; end < 28; end += 1) {
      expect(decodeArp(captured('reply').subarray(0, end))).toBeUndefined()
    }
  })
})

describe('neighbour discovery', () => {
  test.each(['solicitation', 'advertisement'] as const)('an %s of Linux', (name) => {
    const message = decodeNeighbourMessage(captured(name))!
    expect([formatIp(message.target), formatMac(message.linkAddress!)]).toEqual([
      '2001:db8::1',
      name === 'solicitation' ? '02:00:00:00:00:02' : '02:00:00:00:00:01',
    ])
    const isAnswer = name === 'advertisement'
    expect([message.solicited, message.override]).toEqual([isAnswer, isAnswer])
    expect(hex(encodeNeighbourMessage(message))).toBe(CAPTURED[name])
  })

  test('a solicitation of duplicate address detection has no source; its nonce is skipped', () => {
    const { source, linkAddress, target } = decodeNeighbourMessage(captured('detection'))!
    expect([formatIp(source), linkAddress, formatIp(target)]).toEqual([
      '::',
      undefined,
      '2001:db8::2',
    ])
  })

  const messages: fc.Arbitrary<NeighbourMessage> = fc
    .record({
      type: fc.constantFrom(135, 136),
      source: unicastIp,
      destination: unicastIp,
      target: unicastIp,
      solicited: fc.boolean(),
      override: fc.boolean(),
      linkAddress: fc.option(unicastMac, { nil: undefined }),
    })
    .map((message) =>
      message.type === 136 ? message : { ...message, solicited: false, override: false },
    )

  test('what is written is read again, and its checksum is right', () => {
    fc.assert(
      fc.property(messages, (message) => {
        expect(decodeNeighbourMessage(encodeNeighbourMessage(message))).toEqual(message)
      }),
    )
  })

  test('one changed byte of what the checksum covers is noticed', () => {
    const covered = fc.constantFrom(...Array.from({ length: 64 }, (_, at) => at + 8))
    fc.assert(
      fc.property(messages, covered, fc.integer({ min: 1, max: 255 }), (message, at, change) => {
        const packet = encodeNeighbourMessage(message)
        fc.pre(at < packet.length)
        packet[at]! ^= change
        expect(decodeNeighbourMessage(packet)).toBeUndefined()
      }),
    )
  })

  const valid: NeighbourMessage = decodeNeighbourMessage(captured('advertisement'))!
  const solicitation: NeighbourMessage = decodeNeighbourMessage(captured('solicitation'))!
  const zero = new Uint8Array(16)
  test.each<readonly [string, NeighbourMessage]>([
    [
      'a target that is a group',
      { ...valid, target: Buffer.from(`ff02${'00'.repeat(14)}`, 'hex') },
    ],
    ['no target', { ...valid, target: zero }],
    ['a source that is a group', { ...valid, source: solicitation.destination }],
    ['an answer to a group', { ...valid, destination: solicitation.destination }],
    ['no source and a link address', { ...solicitation, source: zero }],
    [
      'no source, and to one host',
      { ...solicitation, source: zero, destination: valid.target, linkAddress: undefined },
    ],
    [
      'a link address of a group',
      { ...valid, linkAddress: multicastMac(solicitation.destination) },
    ],
  ])('%s is refused', (_, message) => {
    expect(decodeNeighbourMessage(encodeNeighbourMessage(message))).toBeUndefined()
  })

  test.each([
    ['a router in between', 7, 254],
    ['another protocol', 6, 17],
    ['IPv4', 0, 0x45],
    ['an extension header', 6, 0],
    ['a length that is too long', 5, 40],
    ['a length without the target', 5, 16],
    ['an option of length 0', 65, 0],
    ['an option beyond the end', 65, 2],
  ])('%s is refused', (_, at, value) => {
    const packet = captured('advertisement')
    packet[at] = value
    fixChecksum(packet)
    expect(decodeNeighbourMessage(packet)).toBeUndefined()
  })

  test('whatever a packet holds, and wherever it ends, reading it throws nothing', () => {
    const changes = fc.array(fc.tuple(fc.nat(71), fc.nat(255)), { maxLength: 6 })
    const names = fc.constantFrom('solicitation', 'advertisement', 'detection', 'reply')
    let read = 0
    fc.assert(
      fc.property(names, changes, fc.nat(72), fc.boolean(), (name, changed, end, isFixed) => {
        const packet = captured(name)
        for (const [at, value] of changed) if (at < packet.length) packet[at] = value
        if (isFixed && packet.length === 72) fixChecksum(packet)
        if (decodeNeighbourMessage(packet.subarray(0, end === 0 ? 72 : end))) read += 1
        decodeArp(packet.subarray(0, end))
      }),
      { numRuns: 2_000 },
    )
    expect(read).toBeGreaterThan(10)
  })

  test('the group of an address, and its Ethernet address', () => {
    const group = solicitedNodeGroup(Buffer.from('20010db8000000000000000000a1b2c3', 'hex'))
    expect([formatIp(group), formatMac(multicastMac(group))]).toEqual([
      'ff02::1:ffa1:b2c3',
      '33:33:ff:a1:b2:c3',
    ])
  })
})

/** Makes the checksum right, by the sum of all words that it covers. */
function fixChecksum(packet: Buffer): void {
  packet.writeUInt16BE(0, 42)
  let sum = packet.readUInt16BE(4) + 58
  for (let at = 8; at + 1 < packet.length; at += 2) sum += packet.readUInt16BE(at)
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16)
  packet.writeUInt16BE(~sum & 0xffff, 42)
}
