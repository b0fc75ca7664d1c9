/** The nftables mode's own part of the configuration. Times are milliseconds. */
export interface NftablesConfiguration {
  readonly nftables: {
    readonly syncPeriod: number
    readonly minSyncPeriod: number
  }
}
