import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type Cidr,
  cidrContains,
  formatIp,
  type IpAddress,
  ipBytes,
  parseCidr,
  parseIp,
} from './ip.ts'
import {
  isSpecialAddress,
  overlaps,
  SPECIAL_NETWORKS,
  specialNetworkIn,
} from './special-address.ts'

test.each([
  ['0.0.0.0', true],
  ['0.1.2.3', true],
  ['1.0.0.0', false],
  ['126.255.255.255', false],
  ['127.0.0.1', true],
  ['128.0.0.0', false],
  ['169.253.255.255', false],
  ['169.254.169.254', true],
  ['169.255.0.0', false],
  ['223.255.255.255', false],
  ['224.0.0.1', true],
  ['239.255.255.255', true],
  ['240.0.0.1', false],
  ['255.255.255.254', false],
  ['255.255.255.255', true],
  ['::', true],
  ['::1', true],
  ['::2', false],
  ['::1:1', false],
  ['::ffff:127.0.0.1', true],
  ['::ffff:169.254.169.254', true],
  ['::ffff:0.0.0.0', true],
  ['::ffff:10.0.0.1', true],
  ['::fffe:10.0.0.1', false],
  ['::ffff:0:10.0.0.1', false],
  ['fe7f::1', false],
  ['fe80::1', true],
  ['febf:ffff::1', true],
  ['fec0::1', false],
  ['fe8::1', false],
  ['feff::1', false],
  ['ff02::1', true],
  ['ff::1', false],
  ['fd00::1', false],
  ['2001:db8::1', false],
])('%s: %s', (text, special) => {
  expect(isSpecialAddress(parseIp(text)!)).toBe(special)
})

test('is the union of the special networks', () => {
  const near = fc
    .tuple(fc.constantFrom(...SPECIAL_NETWORKS), fc.uint8Array({ minLength: 16, maxLength: 16 }))
    .chain(([cidr, noise]) =>
      fc.integer({ min: 0, max: 128 }).map((kept) => mix(cidr, noise, kept)),
    )
  fc.assert(
    fc.property(near, (ip) => {
      expect(isSpecialAddress(ip)).toBe(SPECIAL_NETWORKS.some((cidr) => cidrContains(cidr, ip)))
    }),
    { numRuns: 2_000 },
  )
})

/** The first `kept` bits of a network's address, then noise. */
function mix(cidr: Cidr, noise: Uint8Array, kept: number): IpAddress {
  const network = ipBytes(parseIp(cidr.slice(0, cidr.indexOf('/')))!)
  return formatIp(
    network.map((byte, index) => {
      const mask = 0xff << (8 - Math.min(Math.max(kept - index * 8, 0), 8))
      return (byte & mask) | (noise[index]! & ~mask)
    }),
  )
}

test.each([
  ['0.0.0.0/0', '0.0.0.0/8'],
  ['127.1.0.0/16', '127.0.0.0/8'],
  ['169.254.1.0/24', '169.254.0.0/16'],
  ['128.0.0.0/1', '169.254.0.0/16'],
  ['255.255.255.0/24', '255.255.255.255/32'],
  ['::/0', '::/128'],
  ['fe80::/16', 'fe80::/10'],
  ['ff02::/112', 'ff00::/8'],
  ['::ffff:10.0.0.0/104', '::ffff:0:0/96'],
])('%s overlaps the special network %s', (text, special) => {
  expect(specialNetworkIn(parseCidr(text)!)).toBe(special)
})

test.each(['10.96.0.0/12', '240.0.0.0/24', '1.0.0.0/8', 'fd00::/8', '2001:db8::/32'])(
  '%s overlaps no special network',
  (text) => {
    expect(specialNetworkIn(parseCidr(text)!)).toBeUndefined()
  },
)

test('networks of two families never overlap', () => {
  expect(overlaps(parseCidr('0.0.0.0/0')!, parseCidr('::/0')!)).toBe(false)
})
