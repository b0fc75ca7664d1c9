import type { RealServerState, VirtualServer } from '../kernel/ipvs/ipvs.ts'
import type { IpAddress } from '../lib/ip.ts'
import type { Protocol } from '../resources/types.ts'

/** A virtual server with its real servers. */
export interface ListedService {
  readonly service: VirtualServer
  readonly servers: readonly RealServerState[]
}

/** A persistence template: the client (or its network) keeps a real server. */
export interface PersistenceTemplate {
  /** Undefined: of a virtual server by mark. */
  readonly protocol: Protocol | undefined
  /** With host bits of the virtual server's persistence prefix cleared. */
  readonly client: IpAddress
  /** The address of the virtual server; of one by mark the mark as an IPv4 address. */
  readonly virtualIp: IpAddress
  readonly virtualPort: number
  readonly server: IpAddress
  readonly serverPort: number
  /** Until the client is forgotten. */
  readonly secondsLeft: number
}

/** What IPVS holds in one network namespace. */
export interface IpvsSnapshot {
  readonly services: readonly ListedService[]
  readonly templates: readonly PersistenceTemplate[]
  /** `net.ipv4.vs.conntrack`: without it what IPVS forwards is not tracked, so not masqueraded either. */
  readonly tracksConnections: boolean
  /** `net.ipv4.vs.expire_quiescent_template`: a template of a real server of weight 0 is not used. */
  readonly expiresQuiescent: boolean
}
