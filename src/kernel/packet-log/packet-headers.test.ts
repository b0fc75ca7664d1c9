import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type IpAddress, ipBytes } from '../../lib/ip.ts'
import { decodeHeaders } from './packet-headers.ts'

const PORTS = Buffer.from([0xc0, 0x01, 0x00, 0x50])
const HAS_PORTS = { source: 0xc001, destination: 80 }
const A4 = { source: '10.1.0.1', destination: '10.1.0.2' }
const A6 = { source: 'fd01::1', destination: 'fd01::2' }

function bytesOf({ source, destination }: typeof A4): Buffer {
  return Buffer.concat([source, destination].map((ip) => ipBytes(ip as IpAddress)))
}

/** `words`: of the header, with options; `offset`: of the fragment, in units of 8 bytes. */
function v4(protocol: number, { words = 5, offset = 0 } = {}, rest = PORTS): Buffer {
  const header = Buffer.alloc(words * 4)
  header[0] = 0x40 | words
  header.writeUInt16BE(0x2000 | offset, 6)
  header[9] = protocol
  bytesOf(A4).copy(header, 12)
  return Buffer.concat([header, rest])
}

function v6(next: number, ...rest: readonly Buffer[]): Buffer {
  const header = Buffer.alloc(40)
  header[0] = 0x60
  header[6] = next
  bytesOf(A6).copy(header, 8)
  return Buffer.concat([header, ...rest])
}

/** An extension header of IPv6: the next one, the length that it says, and its bytes. */
function extension(next: number, length: number, size: number): Buffer {
  const bytes = Buffer.alloc(size)
  bytes[0] = next
  bytes[1] = length
  return bytes
}

function fragment(next: number, offset: number): Buffer {
  const bytes = extension(next, 0, 8)
  bytes.writeUInt16BE((offset << 3) | 1, 2)
  return bytes
}

test.each([
  ['TCP', v4(6), 'TCP', HAS_PORTS],
  ['UDP behind options', v4(17, { words: 7 }), 'UDP', HAS_PORTS],
  ['SCTP', v4(132), 'SCTP', HAS_PORTS],
  ['ICMP', v4(1), 'ICMP', undefined],
  ['another protocol', v4(47), '47', undefined],
  ['a first fragment', v4(17, { offset: 0 }), 'UDP', HAS_PORTS],
  ['a later fragment', v4(17, { offset: 185 }), 'UDP', undefined],
  ['ports that are cut off', v4(6, {}, PORTS.subarray(0, 3)), 'TCP', undefined],
  [
    'a length of the header beyond the packet',
    v4(6, { words: 5 }).fill(0x4f, 0, 1),
    'TCP',
    undefined,
  ],
])('IPv4: %s', (_, packet, protocol, ports) => {
  expect(decodeHeaders(packet, 4)).toEqual({ ...A4, protocol, ports })
})

test.each([
  ['TCP', v6(6, PORTS), 'TCP', HAS_PORTS],
  ['ICMPv6', v6(58, PORTS), 'ICMPv6', undefined],
  ['hop-by-hop options', v6(0, extension(17, 0, 8), PORTS), 'UDP', HAS_PORTS],
  [
    'several extensions',
    v6(0, extension(43, 1, 16), extension(60, 0, 8), extension(132, 0, 8), PORTS),
    'SCTP',
    HAS_PORTS,
  ],
  ['authentication', v6(51, extension(6, 4, 24), PORTS), 'TCP', HAS_PORTS],
  ['a first fragment', v6(44, fragment(17, 0), PORTS), 'UDP', HAS_PORTS],
  ['a later fragment', v6(44, fragment(17, 3), PORTS), 'UDP', undefined],
  [
    'a later fragment of options',
    v6(44, fragment(60, 3), extension(17, 0, 8)),
    undefined,
    undefined,
  ],
  ['an extension that is cut off', v6(0, extension(6, 0, 7)), undefined, undefined],
  ['an extension longer than the packet', v6(0, extension(6, 255, 8)), 'TCP', undefined],
  ['no next header', v6(59), '59', undefined],
])('IPv6: %s', (_, packet, protocol, ports) => {
  expect(decodeHeaders(packet, 6)).toEqual({ ...A6, protocol, ports })
})

test.each([
  ['no bytes', Buffer.alloc(0), 4],
  ['half a header', v4(6).subarray(0, 19), 4],
  ['half a header of IPv6', v6(6).subarray(0, 39), 6],
  ['another version than the family', v4(6), 6],
  ['a version that is none', Buffer.alloc(60), 4],
] as const)('no addresses: %s', (_, packet, family) => {
  expect(decodeHeaders(packet, family)).toBeUndefined()
})

test('whatever a packet holds, and wherever it ends, reading it throws nothing', () => {
  const extensions = fc.array(
    fc.tuple(fc.constantFrom(0, 6, 17, 43, 44, 51, 60, 135), fc.nat(8), fc.nat(40)),
    { maxLength: 6 },
  )
  fc.assert(
    fc.property(extensions, fc.nat(255), fc.nat(200), fc.boolean(), (all, next, end, isOf4) => {
      const rest = all.map(([of, length, size]) => extension(of, length, size + 2))
      const packet = isOf4 ? v4(next, {}, Buffer.concat(rest)) : v6(next, ...rest)
      const cut = packet.subarray(0, end)
      const found = decodeHeaders(cut, isOf4 ? 4 : 6)
      expect(found === undefined).toBe(cut.length < (isOf4 ? 20 : 40))
    }),
  )
})
