import type { Cidr } from '../../../lib/ip.ts'

/** The schedulers that can be configured, as `ipvsadm -s` names them; empty: rr. */
export const SCHEDULERS = [
  '',
  'rr',
  'wrr',
  'lc',
  'wlc',
  'lblc',
  'lblcr',
  'sh',
  'dh',
  'sed',
  'nq',
  'fo',
  'ovf',
  'mh',
] as const

/** The name of a scheduler of IPVS; empty: rr. */
export type Scheduler = (typeof SCHEDULERS)[number]

/** The ipvs mode's own part of the configuration. Times are milliseconds. */
export interface IpvsConfiguration {
  readonly ipvs: {
    readonly syncPeriod: number
    readonly minSyncPeriod: number
    /** Empty: rr. */
    readonly scheduler: Scheduler
    readonly excludeCIDRs: readonly Cidr[]
    readonly strictARP: boolean
    readonly tcpTimeout: number
    readonly tcpFinTimeout: number
    readonly udpTimeout: number
    /** How long a backend that left keeps its connections; 0: it loses them at once. */
    readonly gracefulTermination: {
      readonly tcp: number
      readonly udp: number
      readonly sctp: number
    }
  }
}
