import { expect, test } from 'vitest'
import { whyUnreachable } from './replica-address.ts'

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
