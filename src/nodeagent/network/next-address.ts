import type { Cidr, IpAddress } from '../../lib/ip.ts'
import { type IpRange, networkRange } from '../../lib/ip-range.ts'

/** The first address of a network, which is the node's own on the bridge of its Pods. */
export function gatewayOf(cidr: Cidr): IpAddress {
  return networkRange(cidr).at(1n)
}

/**
 * The next address of `cidr` behind `last` that no Pod has, from the start again
 * at its end; undefined when there is none. So an address that was just given
 * back stays unused for as long as possible. The network's own address, the
 * gateway and the last (IPv4's broadcast) are never given.
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

/** Whether a Pod may have this address at all. */
export function isForPods(cidr: Cidr, ip: IpAddress): boolean {
  return rangeForPods(cidr).indexOf(ip) !== undefined
}

/** Without the network's own address, the gateway and the last. */
function rangeForPods(cidr: Cidr): IpRange {
  return networkRange(cidr).without(2n, 1n)
}
