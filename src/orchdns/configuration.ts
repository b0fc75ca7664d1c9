import type { DnsSettings } from '../dns/dns-fields.ts'
import type { SocketAddress } from '../settings/network-types.ts'

/** What an operator decides about orch-dns. */
export interface OrchDnsConfiguration {
  /** Empty: the service account of the Pod. */
  readonly kubeconfig: string
  readonly dns: DnsSettings
  /** Where metrics and health are served; undefined: nowhere. */
  readonly statusAddress: SocketAddress | undefined
  /** Milliseconds for which questions are still answered after the signal to stop. */
  readonly shutdownDelay: number
  readonly logging: { readonly verbosity: number }
}
