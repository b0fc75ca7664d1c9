/** The iptables mode's own part of the configuration. Times are milliseconds. */
export interface IptablesConfiguration {
  readonly iptables: {
    readonly syncPeriod: number
    readonly minSyncPeriod: number
  }
}
