import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Cidr, cidrContains, formatIp, type IpAddress, parseCidr } from './ip.ts'
import { networkDifference, networkRange, rangeBetween } from './ip-range.ts'

test.each([
  ['10.0.0.0/29', 8n, '10.0.0.0', '10.0.0.7'],
  ['10.0.0.1/32', 1n, '10.0.0.1', '10.0.0.1'],
  ['0.0.0.0/0', 2n ** 32n, '0.0.0.0', '255.255.255.255'],
  ['fd00::/64', 2n ** 64n, 'fd00::', 'fd00::ffff:ffff:ffff:ffff'],
  ['::/0', 2n ** 128n, '::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
])('%s has %d addresses from %s to %s', (cidr, size, first, last) => {
  const range = networkRange(cidr as Cidr)
  expect([range.size, range.at(0n), range.at(size - 1n)]).toEqual([size, first, last])
})

const LENGTHS = fc.constantFrom(4, 16)
const networks = LENGTHS.chain((length) =>
  fc.tuple(fc.uint8Array({ minLength: length, maxLength: length }), fc.nat({ max: 8 * length })),
).map(([bytes, prefix]) => parseCidr(`${formatIp(bytes)}/${prefix}`)!)
const addresses = LENGTHS.chain((length) =>
  fc.uint8Array({ minLength: length, maxLength: length }),
).map(formatIp)

test('an address stands where it was taken from', () => {
  fc.assert(
    fc.property(networks, fc.bigInt({ min: 0n, max: 2n ** 128n }), (cidr, number) => {
      const range = networkRange(cidr)
      const index = number % range.size
      expect(range.indexOf(range.at(index))).toBe(index)
    }),
  )
})

test('a range has exactly the addresses that its network contains', () => {
  fc.assert(
    fc.property(networks, addresses, (cidr, ip) => {
      expect(networkRange(cidr).indexOf(ip) !== undefined).toBe(cidrContains(cidr, ip))
    }),
  )
  expect(networkRange('0.0.0.0/0' as Cidr).indexOf('::1' as IpAddress)).toBeUndefined()
})

test.each([
  ['192.0.2.254', '192.0.3.1', 4n],
  ['fd00::ffff', 'fd00::1:0', 2n],
  ['192.0.2.1', '192.0.2.1', 1n],
  ['192.0.2.2', '192.0.2.1', undefined],
  ['192.0.2.1', 'fd00::1', undefined],
  ['::1', '192.0.2.1', undefined],
])('from %s to %s are %s', (first, last, size) => {
  const range = rangeBetween(first as IpAddress, last as IpAddress)
  expect(range?.size).toBe(size)
  if (range !== undefined) expect([range.at(0n), range.at(range.size - 1n)]).toEqual([first, last])
})

test('a range can leave out its ends', () => {
  const inner = networkRange('10.0.0.0/29' as Cidr).without(2n, 1n)
  expect([inner.size, inner.at(0n), inner.indexOf('10.0.0.6' as IpAddress)]).toEqual([
    5n,
    '10.0.0.2',
    4n,
  ])
  for (const ip of ['10.0.0.1', '10.0.0.7']) expect(inner.indexOf(ip as IpAddress)).toBeUndefined()
  expect(networkRange('10.0.0.0/31' as Cidr).without(2n, 1n).size).toBe(0n)
})

const difference = (networks: readonly string[], excluded: readonly string[] = []) =>
  networkDifference(networks as Cidr[], excluded as Cidr[])

test.each<[readonly string[], readonly string[], readonly string[]]>([
  [['10.96.0.0/12', 'fd00::/108'], [], ['10.96.0.0/12', 'fd00::/108']],
  [['10.96.1.0/24', '10.96.0.0/12', '10.96.0.0/12'], [], ['10.96.0.0/12']],
  [['10.96.0.0/12'], ['10.0.0.0/8'], []],
  [['10.96.0.0/12'], ['10.96.0.0/12'], []],
  [['10.96.0.0/12'], ['192.168.0.0/16', 'fd00::/8'], ['10.96.0.0/12']],
  [['10.96.0.0/14'], ['10.98.0.0/16'], ['10.96.0.0/15', '10.99.0.0/16']],
  [['fd00::/126'], ['fd00::1/128'], ['fd00::/128', 'fd00::2/127']],
])('%j without %j', (networks, excluded, expected) => {
  expect(difference(networks, excluded)).toEqual(expected)
})

test('has each address that is in a network and in none that is excluded, once', () => {
  const network = fc
    .tuple(fc.integer({ min: 0, max: 31 }), fc.integer({ min: 27, max: 32 }))
    .map(([host, prefix]) => parseCidr(`10.0.0.${host}/${prefix}`)!)
  const some = fc.array(network, { maxLength: 4 })
  const addresses: readonly IpAddress[] = Array.from({ length: 32 }, (_, host) =>
    networkRange('10.0.0.0/24' as Cidr).at(BigInt(host)),
  )
  fc.assert(
    fc.property(some, some, (networks, excluded) => {
      const left = difference(networks, excluded)
      for (const ip of addresses) {
        const isIn = (cidrs: readonly Cidr[]) =>
          cidrs.filter((cidr) => cidrContains(cidr, ip)).length
        const wanted = isIn(networks) > 0 && isIn(excluded) === 0
        expect(isIn(left)).toBe(wanted ? 1 : 0)
      }
    }),
  )
})
