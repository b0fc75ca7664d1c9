import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatIp, type IpAddress } from '../../lib/ip.ts'
import { addressKey, ipOf, ipPart, portOf, socketAddress } from './socket-address.ts'

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
const address = fc.oneof(
  fc.uint8Array({ minLength: 4, maxLength: 4 }),
  fc.uint8Array({ minLength: 16, maxLength: 16 }),
)

test('an address has the bytes of struct sockaddr_in or sockaddr_in6', () => {
  expect(hex(socketAddress('10.96.0.1' as IpAddress, 8080))).toBe(
    '02001f900a6000010000000000000000',
  )
  expect(hex(socketAddress('fd00::2' as IpAddress, 53))).toBe(
    '0a00003500000000fd00000000000000000000000000000200000000',
  )
})

test('address and port are decoded, whatever bytes follow them', () => {
  fc.assert(
    fc.property(address, fc.nat(65_535), (bytes, port) => {
      const ip = formatIp(bytes)
      const longer = Uint8Array.from([...socketAddress(ip, port), 9, 9])
      expect([ipOf(longer), portOf(longer), hex(ipPart(longer))]).toEqual([ip, port, hex(bytes)])
      expect(addressKey(longer)).toBe(addressKey(socketAddress(ip, port)))
    }),
  )
})

test('keys are equal only for equal IP addresses and ports', () => {
  fc.assert(
    fc.property(address, address, fc.nat(65_535), fc.nat(65_535), (a, b, portA, portB) => {
      const isSame = hex(a) === hex(b) && portA === portB
      const keys = [socketAddress(formatIp(a), portA), socketAddress(formatIp(b), portB)]
      expect(addressKey(keys[0]!) === addressKey(keys[1]!)).toBe(isSame)
    }),
  )
})
