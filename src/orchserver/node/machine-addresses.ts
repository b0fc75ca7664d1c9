import type { NetworkInterfaceInfo } from 'node:os'
import { NodeProxyError } from '../../lib/error.ts'
import { type Family, type IpAddress, parseIp } from '../../lib/ip.ts'

type Interfaces = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>

/** Of a link, and good for nobody who is not on it. */
const LINK_LOCAL = /^(?:169\.254\.|fe80:)/i

/**
 * The first address of this machine of each family that others can reach it by.
 * @throws NP_ORCHSERVER_NODE_ADDRESS when it has none of any family
 */
export function machineAddresses(
  interfaces: Interfaces,
  families: readonly Family[],
): readonly IpAddress[] {
  const all = Object.values(interfaces).flatMap((addresses) => addresses ?? [])
  const reachable = all.filter(({ internal, address }) => !internal && !LINK_LOCAL.test(address))
  const found = families.flatMap((family) => {
    const first = reachable.find((one) => one.family === `IPv${family}`)
    return (first && parseIp(first.address)) ?? []
  })
  if (found.length > 0) return found
  throw new NodeProxyError(
    'NP_ORCHSERVER_NODE_ADDRESS',
    'this machine has no address beyond its loopback that could be that of the node',
    { hint: 'name one with --node-ip' },
  )
}
