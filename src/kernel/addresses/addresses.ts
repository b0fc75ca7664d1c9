import type { Family, IpAddress } from '../../lib/ip.ts'

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
  /** Sorted by interface index, then as the kernel lists them. */
  list(): Promise<readonly InterfaceAddress[]>
  /** Calls back soon after an address came or went; look with `list`. The result stops it. */
  watch(onChange: () => void): () => void
}
