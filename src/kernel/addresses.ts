import type { Family, IpAddress } from '../lib/ip.ts'

/** An address of a network interface. */
export interface InterfaceAddress {
  readonly family: Family
  readonly ip: IpAddress
  /** Length of the network's prefix in bits. */
  readonly prefix: number
  /** Name of the interface, up or down. */
  readonly device: string
  readonly scope: 'global' | 'link' | 'host'
}

/** The addresses of this network namespace's interfaces. */
export interface Addresses {
  /** Sorted by interface index, then in the kernel's order. Rejects with NP_KERNEL_NETLINK. */
  list(): Promise<readonly InterfaceAddress[]>
  /**
   * Calls back soon after an address was added or removed; `list` then has the new state. Returns a function that
   * stops this.
   */
  watch(onChange: () => void): () => void
}
