import { expect, test } from 'vitest'
import { isSameAddress, parseLegacyCidr, parseLegacyIp } from './legacy-address.ts'

test.each([
  ['10.0.0.1', '10.0.0.1'],
  ['010.0.0.1', '10.0.0.1'],
  ['127.010.020.030', '127.10.20.30'],
  ['127.007.008.009', '127.7.8.9'],
  ['000.00.0.0', '0.0.0.0'],
  ['0000000010.0.0.1', '10.0.0.1'],
  ['2001:0db8::00001', '2001:db8::1'],
  ['0:0:0:0:000000:ffff:127.1.2.3', '::ffff:7f01:203'],
  ['::ffff:127.001.002.003', '::ffff:7f01:203'],
])('%s is %s', (text, canonical) => {
  expect(parseLegacyIp(text)).toBe(canonical)
})

test.each([
  '',
  '010.0.0',
  '010.0.0.0.1',
  '0x10.0.0.1',
  '010.0.0.256',
  '010.0.0.0400',
  ' 010.0.0.1',
  '010.0.0.1 ',
  '010.0.0.-1',
  '.010.0.0.1',
  '010..0.1',
  'fd00::00001::1',
  'fe80::01%eth0',
  '010.0.0.1/8',
  '0'.repeat(65),
  `${'0'.repeat(60)}10.0.0.1`,
])('%j is no address', (text) => {
  expect(parseLegacyIp(text)).toBeUndefined()
})

test.each([
  ['10.0.0.0/8', '10.0.0.0/8'],
  ['010.1.2.3/8', '10.0.0.0/8'],
  ['10.0.0.0/08', '10.0.0.0/8'],
  ['010.0.0.0/008', '10.0.0.0/8'],
  ['0.0.0.0/00', '0.0.0.0/0'],
  ['fd00::00000/0064', 'fd00::/64'],
  ['010.0.0.1', '10.0.0.1/32'],
])('network %s is %s', (text, canonical) => {
  expect(parseLegacyCidr(text)).toBe(canonical)
})

test.each(['', '/', '/8', '010.0.0.0/', '010.0.0.0/033', '010.0.0.0/0/8', '010.0.0.0/0x8', '/08'])(
  '%j is no network',
  (text) => {
    expect(parseLegacyCidr(text)).toBeUndefined()
  },
)

test('two texts of one address are the same; other texts are compared as they are', () => {
  expect(isSameAddress('010.0.0.1', '10.0.0.1')).toBe(true)
  expect(isSameAddress('010.0.0.1', '8.0.0.1')).toBe(false)
  expect(isSameAddress('FD00::1', 'fd00:0::01')).toBe(true)
  expect(isSameAddress('None', 'None')).toBe(true)
  expect(isSameAddress('None', '')).toBe(false)
})
