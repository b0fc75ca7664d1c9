import { networkInterfaces } from 'node:os'
import { familyOf, type IpAddress } from '../../lib/ip.ts'
import type { OrchServerConfiguration } from '../config/configuration.ts'
import { firstMachineAddress, type Interfaces } from '../system/machine-addresses.ts'

const ALL_OF_THE_MACHINE: readonly string[] = ['0.0.0.0', '::']

/**
 * The address at which clients on other machines, and Pods, reach a server. That of the configuration; else the
 * one it serves on; where it serves on all of the machine the first that is not of the loopback, or the loopback.
 */
export function reachableAddress(
  {
    bindAddress,
    advertiseAddress,
  }: Pick<OrchServerConfiguration, 'bindAddress' | 'advertiseAddress'>,
  interfaces: Interfaces = networkInterfaces(),
): IpAddress {
  if (advertiseAddress !== '') return advertiseAddress
  if (!ALL_OF_THE_MACHINE.includes(bindAddress)) return bindAddress
  const loopback = (familyOf(bindAddress) === 4 ? '127.0.0.1' : '::1') as IpAddress
  return firstMachineAddress(interfaces, familyOf(bindAddress)) ?? loopback
}
