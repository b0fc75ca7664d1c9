import { NodeProxyError } from '../../lib/error.ts'
import { type Cidr, type IpAddress } from '../../lib/ip.ts'
import { isForPods, nextAddress } from './next-address.ts'

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
