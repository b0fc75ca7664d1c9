import { expect, test } from 'vitest'
import type { IpAddress } from '../../lib/ip.ts'
import { reachableAddress } from '../server.ts'
import type { Interfaces } from '../system/machine-addresses.ts'

const INTERFACES = {
  lo: [{ address: '127.0.0.1', internal: true }],
  eth0: [
    { address: 'fe80::1', internal: false },
    { address: '192.0.2.7', internal: false },
    { address: '2001:db8::7', internal: false },
  ],
} as unknown as Interfaces

test.each<[string, string, Interfaces, string]>([
  ['127.0.0.1', '', INTERFACES, '127.0.0.1'],
  ['192.0.2.9', '', INTERFACES, '192.0.2.9'],
  ['0.0.0.0', '', INTERFACES, '192.0.2.7'],
  ['::', '', INTERFACES, '2001:db8::7'],
  ['0.0.0.0', '', {}, '127.0.0.1'],
  ['::', '', {}, '::1'],
  ['0.0.0.0', '192.0.2.8', INTERFACES, '192.0.2.8'],
])(
  'a server on %s with the advertised address "%s" is reached at its own',
  (bind, given, interfaces, expected) => {
    const config = {
      bindAddress: bind as IpAddress,
      advertiseAddress: given as IpAddress | '',
    }
    expect(reachableAddress(config, interfaces)).toBe(expected)
  },
)
