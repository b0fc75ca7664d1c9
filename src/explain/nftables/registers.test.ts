import { expect, test } from 'vitest'
import { ip } from '../../forwarding/testing/fixtures.ts'
import { registersOf } from './live-elements.ts'
import { addressPart, numberPart, textPart } from './model/value.ts'

/** What the kernel has of `10.0.0.1 . udp . 53 . 2`. */
const KEY = Buffer.from('0a000001110000000035000002000000', 'hex')
const TYPES = ['ipv4_addr', 'inet_proto', 'inet_service', 'integer']

test('a key is written as the kernel has it, and read back', () => {
  const registers = registersOf(TYPES)
  const parts = [addressPart(ip('10.0.0.1')), numberPart(17), numberPart(53), numberPart(2)]
  expect(registers?.write(parts)).toEqual(KEY)
  expect(registers?.read(KEY)).toEqual({ concat: ['10.0.0.1', 17, 53, 2] })
})

test('an address alone is no concatenation', () => {
  const registers = registersOf(['ipv6_addr'])
  const written = registers?.write([addressPart(ip('2001:db8::1'))])
  expect(written?.toString('hex')).toBe('20010db8000000000000000000000001')
  expect(registers?.read(written!)).toBe('2001:db8::1')
})

test.each([
  ['a name', ['ipv4_addr'], [textPart('eth0')]],
  ['a number that is too large', ['inet_service'], [numberPart(65_536)]],
  ['fewer parts', ['ipv4_addr', 'inet_service'], [addressPart(ip('10.0.0.1'))]],
])('%s is not written', (_, types, parts) => {
  expect(registersOf(types)?.write(parts)).toBeUndefined()
})

test('types that are not known have no registers', () => {
  expect(registersOf(['ifname'])).toBeUndefined()
})
