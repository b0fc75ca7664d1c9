import type { NetworkInterfaceInfo } from 'node:os'
import { expect, it } from 'vitest'
import type { Family } from '../../lib/ip.ts'
import { machineAddresses } from './machine-addresses.ts'

function at(address: string, internal = false): NetworkInterfaceInfo {
  const family = address.includes(':') ? 'IPv6' : 'IPv4'
  return { address, family, internal } as NetworkInterfaceInfo
}

const MACHINE = {
  lo: [at('127.0.0.1', true), at('::1', true)],
  eth0: [at('fe80::1'), at('169.254.7.7'), at('192.0.2.10'), at('2001:db8::10')],
  eth1: [at('198.51.100.1')],
}

it.each<[Family[], string[]]>([
  [[4], ['192.0.2.10']],
  [
    [6, 4],
    ['2001:db8::10', '192.0.2.10'],
  ],
])('the first address of the families %j', (families, found) => {
  expect(machineAddresses(MACHINE, families)).toEqual(found)
})

it('a machine with nothing but its loopback is an error with a remedy', () => {
  expect(() => machineAddresses({ lo: MACHINE.lo }, [4])).toThrow('no address beyond its loopback')
  expect(machineAddresses({ eth1: MACHINE.eth1 }, [4, 6])).toEqual(['198.51.100.1'])
})
