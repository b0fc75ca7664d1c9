import { expect, test } from 'vitest'
import type { Cidr, IpAddress } from '../../lib/ip.ts'
import { gatewayOf, isForPods, nextAddress, PodAddresses } from './pod-addresses.ts'

const CIDRS = ['10.0.0.0/29' as Cidr, 'fd00::/125' as Cidr]
const ips = (...texts: readonly string[]) => texts as readonly IpAddress[]

test('one of each family; one given back comes last', () => {
  const addresses = new PodAddresses(CIDRS)
  expect(addresses.claim('a')).toEqual(['10.0.0.2', 'fd00::2'])
  expect(addresses.claim('a')).toEqual(['10.0.0.2', 'fd00::2'])
  addresses.release('a')
  const given = ['b', 'c', 'd', 'e', 'f'].map((uid) => addresses.claim(uid)[0])
  expect(given).toEqual(['10.0.0.3', '10.0.0.4', '10.0.0.5', '10.0.0.6', '10.0.0.2'])
  expect(() => addresses.claim('g')).toThrow('10.0.0.0/29 has no address left for a Pod')
})

test('what a Pod had before it keeps, if it is ours and free', () => {
  const addresses = new PodAddresses(CIDRS)
  addresses.keep('a', ips('10.0.0.5', 'fd00::5'))
  addresses.keep('b', ips('10.0.0.5', 'fd00::4'))
  addresses.keep('c', ips('10.0.0.1', 'fd00::3'))
  addresses.keep('d', ips('10.0.0.3'))
  expect(addresses.claim('a')).toEqual(['10.0.0.5', 'fd00::5'])
  expect(['b', 'c', 'd'].map((uid) => addresses.claim(uid)[0])).toEqual([
    '10.0.0.6',
    '10.0.0.2',
    '10.0.0.3',
  ])
})

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
