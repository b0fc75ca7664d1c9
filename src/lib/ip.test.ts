import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type Cidr,
  cidrContains,
  familyOf,
  formatIp,
  hostPort,
  type IpAddress,
  ipBytes,
  parseCidr,
  parseIp,
  parseIpBytes,
  splitHostPort,
} from './ip.ts'

const v4Bytes = fc.uint8Array({ minLength: 4, maxLength: 4 })
/** Mostly zero words, so that runs of zeros are met in every place and length. */
const v6Bytes = fc
  .array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff })), {
    minLength: 8,
    maxLength: 8,
  })
  .map((words) => Uint8Array.from(words.flatMap((word) => [word >> 8, word & 0xff])))
const anyBytes = fc.oneof(v4Bytes, v6Bytes)
const address = anyBytes.map(formatIp)

describe('canonical text', () => {
  test.each([
    ['0.0.0.0', '0.0.0.0'],
    ['255.255.255.255', '255.255.255.255'],
    ['::', '::'],
    ['0:0:0:0:0:0:0:0', '::'],
    ['::1', '::1'],
    ['1::', '1::'],
    ['2001:0DB8::0001', '2001:db8::1'],
    ['2001:db8:0:0:0:0:2:1', '2001:db8::2:1'],
    ['2001:DB8::AbCd', '2001:db8::abcd'],
    // A single zero word is written out (RFC 5952 §4.2.2).
    ['2001:db8::1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
    ['::2:3:4:5:6:7:8', '0:2:3:4:5:6:7:8'],
    // The longest run is shortened, of equal ones the first (§4.2.3).
    ['2001:0:0:1:0:0:0:1', '2001:0:0:1::1'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['0:0:1:0:0:1:0:0', '::1:0:0:1:0:0'],
    ['1:0:0:0:0:0:0:0', '1::'],
    ['0:0:0:0:0:0:1:0', '::1:0'],
    // One form for comparing: hexadecimal also where §5 would show a dotted quad.
    ['::ffff:1.2.3.4', '::ffff:102:304'],
    ['::FFFF:0102:0304', '::ffff:102:304'],
    ['64:ff9b::192.0.2.33', '64:ff9b::c000:221'],
    ['1:2:3:4:5:6:1.2.3.4', '1:2:3:4:5:6:102:304'],
  ])('%s is %s', (text, canonical) => {
    expect(parseIp(text)).toBe(canonical)
  })

  test('what was formatted parses to the same bytes', () => {
    fc.assert(
      fc.property(anyBytes, (bytes) => {
        expect(parseIpBytes(formatIp(bytes))).toEqual(bytes)
      }),
    )
  })

  test('canonical text is its own canonical text', () => {
    fc.assert(
      fc.property(address, (ip) => {
        expect(parseIp(ip)).toBe(ip)
      }),
    )
  })

  test('every form of an address has the same canonical text', () => {
    const form = fc.record({
      bytes: v6Bytes,
      upper: fc.boolean(),
      padded: fc.boolean(),
      quad: fc.boolean(),
    })
    fc.assert(
      fc.property(form, ({ bytes, upper, padded, quad }) => {
        const words = Array.from({ length: 8 }, (_, i) => (bytes[2 * i]! << 8) | bytes[2 * i + 1]!)
        const hex = words.map((word) => word.toString(16).padStart(padded ? 4 : 1, '0'))
        const tail = quad ? [bytes.slice(12).join('.')] : hex.slice(6)
        const text = [...hex.slice(0, 6), ...tail].join(':')
        expect(parseIp(upper ? text.toUpperCase() : text)).toBe(formatIp(bytes))
      }),
    )
  })

  test('agrees with the URL standard, which shortens IPv6 by the same rules', () => {
    fc.assert(
      fc.property(v6Bytes, (bytes) => {
        const words = Array.from({ length: 8 }, (_, i) => (bytes[2 * i]! << 8) | bytes[2 * i + 1]!)
        const full = words.map((word) => word.toString(16)).join(':')
        expect(`[${formatIp(bytes)}]`).toBe(new URL(`http://[${full}]/`).hostname)
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('strictness', () => {
  test.each([
    '',
    ' ',
    '010.0.0.1',
    '10.0.0.01',
    '10.0.0.00',
    '0x7f.0.0.1',
    '1.2.3',
    '127.1',
    '2130706433',
    '1.2.3.4.5',
    '1.2.3.256',
    '1.2.3.-4',
    '1.2.3.+4',
    '1.2.3.4 ',
    ' 1.2.3.4',
    '1.2.3.4\n',
    '1.2.3.4/32',
    '1..3.4',
    '1.2.3.',
    '1.2.3.٤',
    '１.2.3.4',
    ':',
    ':::',
    '1:::2',
    '1::2::3',
    ':1::2',
    '1::2:',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '1:2:3:4:5:6:7:8::',
    '::1:2:3:4:5:6:7:8',
    '12345::',
    'g::',
    '::1 ',
    'fe80::1%eth0',
    'fe80::1%25eth0',
    '[::1]',
    '::ffff:010.0.0.1',
    '::ffff:1.2.3',
    '::1.2.3.4:5',
    '1.2.3.4::',
    '1.2.3.4::5',
    '1:2:3:4:5:6:7:1.2.3.4',
    '0000:0000:0000:0000:0000:0000:0000:0000:0000',
    '__proto__',
    '1'.repeat(70_000),
    ':'.repeat(70_000),
  ])('%j is no address', (text) => {
    expect(parseIp(text)).toBeUndefined()
    expect(parseCidr(`${text}/0`)).toBeUndefined()
  })

  test('no text throws, and what is accepted is an address of 4 or 16 bytes', () => {
    const alphabet = fc.constantFrom(...'0123456789abcdefABCDEF.:/%x -'.split(''))
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: alphabet }), fc.string()), (text) => {
        const bytes = parseIpBytes(text)
        expect([undefined, 4, 16]).toContain(bytes?.length)
        if (bytes) expect(parseIpBytes(formatIp(bytes))).toEqual(bytes)
      }),
      { numRuns: 2_000 },
    )
  })

  test('a leading zero anywhere in a dotted quad is refused', () => {
    fc.assert(
      fc.property(v4Bytes, fc.integer({ min: 0, max: 3 }), (bytes, at) => {
        const parts = [...bytes].map((byte, index) => (index === at ? `0${byte}` : `${byte}`))
        expect(parseIp(parts.join('.'))).toBeUndefined()
        expect(parseIp(`::ffff:${parts.join('.')}`)).toBeUndefined()
      }),
    )
  })

  test('ipBytes throws for what was never parsed', () => {
    expect(() => ipBytes('10.0.0.01' as IpAddress)).toThrow('not a parsed address')
    expect([...ipBytes(parseIp('10.0.0.1')!)]).toEqual([10, 0, 0, 1])
  })
})

describe('networks', () => {
  test.each([
    ['10.1.2.3/8', '10.0.0.0/8'],
    ['10.1.2.3/0', '0.0.0.0/0'],
    ['10.1.2.3/32', '10.1.2.3/32'],
    ['10.1.2.3', '10.1.2.3/32'],
    ['10.255.255.255/13', '10.248.0.0/13'],
    ['::1', '::1/128'],
    ['fd00:1:2:3:4::/64', 'fd00:1:2:3::/64'],
    ['FD00:ffff::/9', 'fd00::/9'],
    ['ffff::/1', '8000::/1'],
    ['::/0', '::/0'],
  ])('%s is %s', (text, canonical) => {
    expect(parseCidr(text)).toBe(canonical)
  })

  test.each([
    '10.0.0.0/33',
    '::/129',
    '10.0.0.0/',
    '10.0.0.0/08',
    '10.0.0.0/-1',
    '10.0.0.0/+8',
    '10.0.0.0/8.0',
    '10.0.0.0/8/8',
    '10.0.0.0/255.0.0.0',
    '10.0.0.0 /8',
    '/8',
    '10.0.0.0/1e1',
  ])('%j is no network', (text) => {
    expect(parseCidr(text)).toBeUndefined()
  })

  test('contains exactly the addresses whose leading bits are the same', () => {
    const pair = fc
      .constantFrom(4, 16)
      .chain((length) =>
        fc.tuple(
          fc.uint8Array({ minLength: length, maxLength: length }),
          fc.uint8Array({ minLength: length, maxLength: length }),
          fc.integer({ min: 0, max: length * 8 }),
          fc.integer({ min: 0, max: length * 8 }),
        ),
      )
    fc.assert(
      fc.property(pair, ([network, noise, prefix, shared]) => {
        const other = bitsOf(network).slice(0, shared) + bitsOf(noise).slice(shared)
        const ip = formatIp(bytesOf(other))
        const cidr = parseCidr(`${formatIp(network)}/${prefix}`)!
        const inside = bitsOf(network).slice(0, prefix) === other.slice(0, prefix)
        expect(cidrContains(cidr, ip)).toBe(inside)
      }),
    )
  })

  test('contains nothing of the other family', () => {
    expect(cidrContains('::/0' as Cidr, parseIp('10.0.0.1')!)).toBe(false)
    expect(cidrContains('0.0.0.0/0' as Cidr, parseIp('::ffff:10.0.0.1')!)).toBe(false)
  })

  test('clearing host bits is idempotent and keeps the address inside', () => {
    fc.assert(
      fc.property(address, fc.nat({ max: 128 }), (ip, bits) => {
        const prefix = bits % (familyOf(ip) === 4 ? 33 : 129)
        const cidr = parseCidr(`${ip}/${prefix}`)!
        expect(parseCidr(cidr)).toBe(cidr)
        expect(cidrContains(cidr, ip)).toBe(true)
        expect(familyOf(cidr)).toBe(familyOf(ip))
      }),
    )
  })
})

test('a port stands behind the address, in brackets for IPv6', () => {
  expect(hostPort(parseIp('10.0.0.1')!, 80)).toBe('10.0.0.1:80')
  expect(hostPort(parseIp('fd00::1')!, 443)).toBe('[fd00::1]:443')
  expect(hostPort('node', 443)).toBe('node:443')
})

test.each([
  ['10.0.0.1', '10.0.0.1', undefined],
  ['node:30080', 'node', '30080'],
  ['name:', 'name', ''],
  ['fd00::1', 'fd00::1', undefined],
  ['::1', '::1', undefined],
  ['[fd00::1]', 'fd00::1', undefined],
  ['[fe80::1%eth0]:53', 'fe80::1%eth0', '53'],
])('%s is a host and a port', (text, host, port) => {
  expect(splitHostPort(text)).toEqual({ host, port })
})

test.each([
  '',
  ':80',
  '[]:80',
  '[fd00::1',
  'fd00::1]:80',
  '[10.0.0.1]:80',
  'a:http',
  'a:123456',
  '[::]x',
])('%j is no host with a port', (text) => {
  expect(splitHostPort(text)).toBeUndefined()
})

function bitsOf(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('')
}

function bytesOf(bits: string): Uint8Array {
  return Uint8Array.from(bits.match(/.{8}/g) ?? [], (byte) => Number.parseInt(byte, 2))
}
