import type { IpAddress } from '../../lib/ip.ts'
import type { Protocol } from '../../resources/types.ts'
import type { PolicyPod } from '../objects/policy-pod.ts'

/** One end of a connection, as the other one sees it. */
export interface ConnectionEnd {
  readonly ip: IpAddress
  /** Undefined: no Pod, or one on the network of its node. */
  readonly pod: PolicyPod | undefined
  /** The node that the Pod runs on, or that has the address; undefined: none, or not known. */
  readonly node: string | undefined
}

/** A connection as it reaches its backend: after destination NAT. */
export interface PolicyConnection {
  readonly source: ConnectionEnd
  readonly destination: ConnectionEnd
  readonly protocol: Protocol
  /** Of the destination. */
  readonly port: number
}
