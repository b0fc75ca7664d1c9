import { expect, test } from 'vitest'
import { parseIp } from '../../lib/ip.ts'
import { createAddressPool, parseAddressRange } from './address-pool.ts'
import { pool } from './testing/pools.ts'

test.each([
  ['192.0.2.0/30', '192.0.2.1,192.0.2.2'],
  ['192.0.2.7/30', '192.0.2.5,192.0.2.6'],
  ['192.0.2.6/31', '192.0.2.6,192.0.2.7'],
  ['192.0.2.7', '192.0.2.7'],
  ['192.0.2.254-192.0.3.1', '192.0.2.254,192.0.2.255,192.0.3.0,192.0.3.1'],
  ['192.0.2.1 - 192.0.2.1', '192.0.2.1'],
  ['fd00::ffff-fd00::1:1', 'fd00::ffff,fd00::1:0,fd00::1:1'],
  ['fd00::/126', 'fd00::1,fd00::2,fd00::3'],
])('the pool %s has the addresses %s', (text, addresses) => {
  const made = createAddressPool(pool([text]))
  const { family } = parseAddressRange(text)
  expect([...made.addresses(family)].join()).toBe(addresses)
  const [first = ''] = addresses.split(',')
  expect(made.contains(parseIp(first)!)).toBe(true)
})

test.each(['192.0.2.0', '192.0.2.255', '192.0.3.1', '::c000:201'])(
  'the pool 192.0.2.0/24 does not contain %s',
  (text) => {
    expect(createAddressPool(pool(['192.0.2.0/24'])).contains(parseIp(text)!)).toBe(false)
  },
)

test('the first address of a pool of 2^64 is there without producing the others', () => {
  const [first] = createAddressPool(pool(['fd00::/64'])).addresses(6)
  expect(first).toBe('fd00::1')
})

test.each(['', 'x', '192.0.2.0/33', '192.0.2.9-192.0.2.1', '192.0.2.1-fd00::1', '1.1.1.1-2-3'])(
  '%j is refused with NP_CONTROLLERS_POOL',
  (text) => {
    expect(() => parseAddressRange(text)).toThrow(
      expect.objectContaining({ code: 'NP_CONTROLLERS_POOL' }),
    )
  },
)
