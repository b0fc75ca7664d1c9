import type { RealServerState, VirtualServer } from '../kernel/ipvs/ipvs.ts'
import type { IpAddress } from '../lib/ip.ts'
import type { Protocol } from '../resources/types.ts'

/** A virtual server with its real servers. */
export interface ListedService {
  readonly service: VirtualServer
  readonly servers: readonly RealServerState[]
}

/** A persistence template: new connections of a client (or of its network) go to the same real server. */
export interface PersistenceTemplate {
  /** Undefined for a virtual server that is identified by a mark. */
  readonly protocol: Protocol | undefined
  /** The client's address, masked with the prefix length of the virtual server's persistence. */
  readonly client: IpAddress
  /** The virtual server's address; if it is identified by a mark, that mark in the form of an IPv4 address. */
  readonly virtualIp: IpAddress
  readonly virtualPort: number
  readonly server: IpAddress
  readonly serverPort: number
  /** Seconds until the template expires. */
  readonly secondsLeft: number
}

/** The state of IPVS in one network namespace. */
export interface IpvsSnapshot {
  readonly services: readonly ListedService[]
  readonly templates: readonly PersistenceTemplate[]
  /** `net.ipv4.vs.conntrack`: without it, connections of IPVS are not tracked and therefore not masqueraded. */
  readonly tracksConnections: boolean
  /** `net.ipv4.vs.expire_quiescent_template`: whether templates of real servers with weight 0 are ignored. */
  readonly expiresQuiescent: boolean
}
