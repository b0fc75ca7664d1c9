import type { Cidr, IpAddress } from '../../lib/ip.ts'
import { type IpRange, networkRange } from '../../lib/ip-range.ts'

/** The first address of a network, which is the node's own on the bridge of its Pods. */
export function gatewayOf(cidr: Cidr): IpAddress {
  return networkRange(cidr).at(1n)
}

/**
 * The next free address of `cidr` after `last`, continuing from the start at the end of the network; undefined
 * when there is none. So a released address stays unused for as long as possible. The network address, the
 * gateway and the last address (IPv4's broadcast) are never assigned.
 */
export function nextAddress(
  cidr: Cidr,
  taken: ReadonlySet<string>,
  last: IpAddress | undefined,
): IpAddress | undefined {
  const pods = rangeForPods(cidr)
  const start = ((last && pods.indexOf(last)) ?? -1n) + 1n
  for (let step = 0n; step < pods.size && step <= taken.size; step++) {
    const candidate = pods.at((start + step) % pods.size)
    if (!taken.has(candidate)) return candidate
  }
  return undefined
}

/** Whether this address may be assigned to a Pod. */
export function isForPods(cidr: Cidr, ip: IpAddress): boolean {
  return rangeForPods(cidr).indexOf(ip) !== undefined
}

/** The addresses of a network without the network address, the gateway and the last one. */
function rangeForPods(cidr: Cidr): IpRange {
  return networkRange(cidr).without(2n, 1n)
}
