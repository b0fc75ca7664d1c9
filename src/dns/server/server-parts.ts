import type { IpAddress } from '../../lib/ip.ts'
import type { AmplificationLimit } from './amplification-limit.ts'
import type { ClientNetworks } from './client-networks.ts'
import type { Responder } from './responder.ts'
import type { Statistics } from './statistics.ts'

/** What both transports of a server share. */
export interface ServerParts {
  readonly responder: Responder
  readonly networks: ClientNetworks
  readonly limit: AmplificationLimit
  readonly statistics: Statistics
  /** Receives an error in answering one message, which is a bug. */
  readonly onError: (error: unknown) => void
}

/** Where a server listens. */
export interface ListenAddress {
  readonly ip: IpAddress
  /** 0: any free one. */
  readonly port: number
}
