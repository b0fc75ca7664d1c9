import { expect, test } from 'vitest'
import type { Cidr, IpAddress } from '../../lib/ip.ts'
import { gatewayOf, isForPods, nextAddress } from './next-address.ts'

test.each([
  ['10.244.0.0/24', '10.244.0.1'],
  ['10.244.255.0/24', '10.244.255.1'],
  ['fd00:10::/64', 'fd00:10::1'],
])('the gateway of %s is %s', (cidr, ip) => {
  expect(gatewayOf(cidr as Cidr)).toBe(ip)
})

test.each([
  ['10.0.0.0/29', [], undefined, '10.0.0.2'],
  ['10.0.0.0/29', ['10.0.0.2'], '10.0.0.2', '10.0.0.3'],
  ['10.0.0.0/29', [], '10.0.0.3', '10.0.0.4'],
  ['10.0.0.0/29', ['10.0.0.4', '10.0.0.5'], '10.0.0.3', '10.0.0.6'],
  ['10.0.0.0/29', ['10.0.0.2'], '10.0.0.6', '10.0.0.3'],
  ['10.0.0.0/29', [2, 3, 4, 5, 6].map((last) => `10.0.0.${last}`), '10.0.0.4', undefined],
  ['10.0.0.0/31', [], undefined, undefined],
  ['10.0.0.0/23', [], '10.0.0.255', '10.0.1.0'],
  ['fd00::/64', ['fd00::3'], 'fd00::2', 'fd00::4'],
])('in %s with %j taken, after %s comes %s', (cidr, taken, last, next) => {
  expect(nextAddress(cidr as Cidr, new Set(taken), last as IpAddress | undefined)).toBe(next)
})

test.each([
  ['10.0.0.0', false],
  ['10.0.0.1', false],
  ['10.0.0.2', true],
  ['10.0.0.6', true],
  ['10.0.0.7', false],
  ['10.0.0.8', false],
])('a Pod may have %s of 10.0.0.0/29: %j', (ip, may) => {
  expect(isForPods('10.0.0.0/29' as Cidr, ip as IpAddress)).toBe(may)
})
