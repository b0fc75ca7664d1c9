import { expect, test } from 'vitest'
import { createAddressRange } from '../allocation/address-range.ts'
import { apiServicesOf, whyUnreachable } from './api-services.ts'

test.each([
  ['10.96.0.0/16', ['kubernetes 10.96.0.1', 'orch 10.96.0.2']],
  ['fd00::/112', ['kubernetes fd00::1', 'orch fd00::2']],
  ['fd00::/127', ['kubernetes fd00::1']],
])('in the range %s the Services of the API are %j', (cidr, expected) => {
  const apiServices = apiServicesOf(createAddressRange(cidr))
  expect(apiServices.map(({ name, ip }) => `${name} ${ip}`)).toEqual(expected)
})

test.each([
  ['192.0.2.1', 4, undefined],
  ['fd00::1', 6, undefined],
  ['127.0.0.1', 4, 'only be reached from this machine'],
  ['0.0.0.0', 4, 'only be reached from this machine'],
  ['::1', 6, 'only be reached from this machine'],
  ['fe80::1', 6, 'only be reached from this machine'],
  ['fd00::1', 4, 'not of the IP family of the Services, IPv4'],
  ['localhost', 4, 'not an IP address'],
] as const)('why Pods cannot reach %s, with Services of IPv%i: %s', (address, family, reason) => {
  const found = whyUnreachable(address, family)
  expect(found).toEqual(reason && expect.stringContaining(reason))
})
