import { NodeProxyError } from '../../lib/error.ts'
import type { Cidr, IpAddress } from '../../lib/ip.ts'
import { type IpRange, networkRange } from '../../lib/ip-range.ts'

/** The addresses of Pods: each Pod has one of each network of the node. */
export class PodAddresses {
  readonly #cidrs: readonly Cidr[]
  /** By the uid of the Pod, in the order of the networks. */
  readonly #held = new Map<string, readonly IpAddress[]>()
  /** The address that was assigned last, by network. */
  readonly #last = new Map<Cidr, IpAddress>()

  constructor(cidrs: readonly Cidr[]) {
    this.#cidrs = cidrs
  }

  /** Assigns the earlier addresses of a Pod, except those of other networks or of another Pod. */
  keep(uid: string, ips: readonly IpAddress[]): void {
    const taken = this.#taken()
    const fits = this.#cidrs.every((cidr, index) => {
      const ip = ips[index]
      return ip !== undefined && isForPods(cidr, ip) && !taken.has(ip)
    })
    if (fits && ips.length === this.#cidrs.length) this.#hold(uid, ips)
  }

  /** The Pod's addresses. Throws NP_NODEAGENT_ADDRESSES when a network has none left. */
  claim(uid: string): readonly IpAddress[] {
    const held = this.#held.get(uid)
    if (held !== undefined) return held
    const taken = this.#taken()
    const ips = this.#cidrs.map((cidr) => {
      const ip = nextAddress(cidr, taken, this.#last.get(cidr))
      if (ip !== undefined) return ip
      throw new NodeProxyError('NP_NODEAGENT_ADDRESSES', `${cidr} has no address left for a Pod`, {
        object: cidr,
      })
    })
    this.#hold(uid, ips)
    return ips
  }

  /** Releases the addresses of a Pod. */
  release(uid: string): void {
    this.#held.delete(uid)
  }

  #hold(uid: string, ips: readonly IpAddress[]): void {
    this.#held.set(uid, ips)
    this.#cidrs.forEach((cidr, index) => {
      const ip = ips[index]
      if (ip !== undefined) this.#last.set(cidr, ip)
    })
  }

  #taken(): ReadonlySet<string> {
    return new Set([...this.#held.values()].flat())
  }
}

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
