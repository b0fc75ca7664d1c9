import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatIp, type IpAddress, ipBytes } from '../../../lib/ip.ts'
import { cidr, ip } from '../../../modes/testing/mode-fixtures.ts'
import {
  address,
  backendData,
  disjoint,
  frontendAddress,
  hostWord,
  indexed,
  network,
  port,
  readAddress,
} from './encode.ts'

const someAddress: fc.Arbitrary<IpAddress> = fc
  .oneof(
    fc.uint8Array({ minLength: 4, maxLength: 4 }),
    fc.uint8Array({ minLength: 16, maxLength: 16 }),
  )
  .map(formatIp)

test('addresses are their bytes', () => {
  fc.assert(
    fc.property(someAddress, (text) => {
      expect([...address(text)]).toEqual([...ipBytes(text)])
      expect(readAddress(address(text))).toBe(text)
    }),
  )
})

test('a backend is its address and its port, padded', () => {
  fc.assert(
    fc.property(someAddress, fc.integer({ min: 0, max: 65_535 }), (text, number) => {
      const parts = [address(text), port(number)]
      expect(backendData({ ip: text, port: number })).toEqual(Buffer.concat(parts))
    }),
  )
})

test('fields are padded to 4 bytes; an index is in the byte order of the host', () => {
  const key = frontendAddress(ip('10.0.0.1'), 'SCTP', 0x1f90)
  expect(key.toString('hex')).toBe('0a000001840000001f900000')
  expect(indexed(key, 0x0102).toString('hex')).toBe('0a000001840000001f90000002010000')
  expect(frontendAddress('node', 'UDP', 80).toString('hex')).toBe('1100000000500000')
  expect(hostWord(0x8000_0001).toString('hex')).toBe('01000080')
})

test.each([
  ['10.0.0.0/8', '10.0.0.0', '10.255.255.255', 'ff000000'],
  ['192.0.2.128/25', '192.0.2.128', '192.0.2.255', 'ffffff80'],
  ['192.0.2.1/32', '192.0.2.1', '192.0.2.1', 'ffffffff'],
  ['0.0.0.0/0', '0.0.0.0', '255.255.255.255', '00000000'],
  [
    'fd00:10::/33',
    'fd00:10::',
    'fd00:10:7fff:ffff:ffff:ffff:ffff:ffff',
    `ffffffff8${'0'.repeat(23)}`,
  ],
])('the network %s', (text, first, last, mask) => {
  const given = network(cidr(text))
  expect([readAddress(given.first), readAddress(given.last)]).toEqual([first, last])
  expect(given.mask.toString('hex')).toBe(mask)
})

test('of networks that contain each other the largest is left', () => {
  const texts = [
    '10.1.0.0/16',
    '10.0.0.0/8',
    '10.0.0.0/16',
    '11.0.0.0/8',
    '10.0.0.0/8',
    '9.0.0.0/32',
  ]
  const left = disjoint(texts.map(cidr))
  expect(left.map(({ first, prefix }) => `${readAddress(first)}/${prefix}`)).toEqual([
    '9.0.0.0/32',
    '10.0.0.0/8',
    '11.0.0.0/8',
  ])
})
