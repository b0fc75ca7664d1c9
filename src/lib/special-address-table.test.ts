import { expect, test } from 'vitest'
import { type IpAddress, parseIp } from './ip.ts'
import { isSpecialAddress } from './special-address.ts'

const ip = (text: string) => parseIp(text) as IpAddress

test.each([
  '0.0.0.0',
  '0.1.2.3',
  '127.255.0.1',
  '169.254.169.254',
  '224.0.0.1',
  '229.1.1.1',
  '230.1.1.1',
  '239.1.1.1',
  '255.255.255.255',
  '::',
  '::1',
  'fe80::1',
  'febf::1',
  'ff02::1',
  'ff00::',
  '::ffff:127.0.0.1',
  '::ffff:0:0',
])('%s is special', (address) => {
  expect(isSpecialAddress(ip(address))).toBe(true)
})

test.each([
  '1.127.0.1',
  '10.0.0.1',
  '126.0.0.1',
  '128.0.0.1',
  '169.253.1.1',
  '169.255.1.1',
  '22.4.0.1',
  '223.255.255.255',
  '240.0.0.1',
  '255.255.255.254',
  '::2',
  '1::1',
  'fe8::1',
  'fec0::1',
  'fe7f::1',
  'fd00::1',
  'ff::1',
  '::ffff:1',
  '64:ff9b::7f00:1',
])('%s is an ordinary address', (address) => {
  expect(isSpecialAddress(ip(address))).toBe(false)
})
