/** The nftables mode's own part of the configuration. Times are milliseconds. */
export interface NftablesConfiguration {
  readonly nftables: {
    /** Kubernetes' own field for this mode: masquerades like `iptables.masqueradeAll`, which holds for all modes. */
    readonly masqueradeAll: boolean
    /** Count connections, packets and bytes of each Service. */
    readonly trafficCounters: boolean
    readonly syncPeriod: number
    readonly minSyncPeriod: number
  }
}
