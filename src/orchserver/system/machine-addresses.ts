import type { NetworkInterfaceInfo } from 'node:os'
import { NodeProxyError } from '../../lib/error.ts'
import { type Family, familyOf, type IpAddress, parseIp } from '../../lib/ip.ts'
import { isSpecialAddress } from '../../lib/special-address.ts'

/** As `networkInterfaces` of node:os returns them. */
export type Interfaces = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>

/**
 * The first address of each family by which other machines can reach this one.
 * @throws NP_ORCHSERVER_NODE_ADDRESS when it has no such address of either family
 */
export function machineAddresses(
  interfaces: Interfaces,
  families: readonly Family[],
): readonly IpAddress[] {
  const found = families.flatMap((family) => firstMachineAddress(interfaces, family) ?? [])
  if (found.length > 0) return found
  throw new NodeProxyError(
    'NP_ORCHSERVER_NODE_ADDRESS',
    'this machine has no address beyond its loopback that a node could use',
    { hint: 'name one with --node-ip' },
  )
}

/** The first address of a family by which other machines can reach this one; undefined: there is none. */
export function firstMachineAddress(interfaces: Interfaces, family: Family): IpAddress | undefined {
  return Object.values(interfaces)
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal }) => !internal)
    .flatMap(({ address }) => parseIp(address) ?? [])
    .find((ip) => familyOf(ip) === family && !isSpecialAddress(ip))
}
