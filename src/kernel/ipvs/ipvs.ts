import { type Family, hostPort, type IpAddress } from '../../lib/ip.ts'

/** The protocols of virtual servers. */
export type IpvsProtocol = 'TCP' | 'UDP' | 'SCTP'

/** The identity of a virtual server: an address with a port, or a firewall mark that packets carry. */
export type VirtualServerId =
  | {
      readonly family: Family
      readonly protocol: IpvsProtocol
      readonly ip: IpAddress
      readonly port: number
    }
  | { readonly family: Family; readonly mark: number }

/**
 * `onePacket`: every datagram is scheduled by itself (UDP only); `fallback` and
 * `sourcePort`: options of the schedulers sh and mh; `schedulerFlag3`: free.
 */
export type SchedulerFlag = 'onePacket' | 'fallback' | 'sourcePort' | 'schedulerFlag3'

export interface VirtualServerSettings {
  /**
   * Name of a scheduler, for example `rr`; the kernel loads the module `ip_vs_rr` if necessary. Each command that
   * names an unknown scheduler starts modprobe and waits for it.
   */
  readonly scheduler: string
  /** In the order of `SchedulerFlag`, each at most once. */
  readonly flags: readonly SchedulerFlag[]
  /**
   * Clients of one network of `prefix` bits keep a real server for `seconds`; 32 or 128: for each client separately.
   */
  readonly persistence: { readonly seconds: number; readonly prefix: number } | undefined
}

/** Counted since a virtual or real server was created, up to two seconds late; exact up to 2^53. */
export interface TrafficCounters {
  readonly connections: number
  readonly incomingPackets: number
  readonly outgoingPackets: number
  readonly incomingBytes: number
  readonly outgoingBytes: number
}

/** A virtual server as the kernel has it. */
export interface VirtualServer {
  readonly id: VirtualServerId
  readonly settings: VirtualServerSettings
  readonly counters: TrafficCounters
}

/** How packets reach a real server, the `IP_VS_CONN_F_*` methods; `masquerade` is NAT. */
export type Forwarding = 'masquerade' | 'local' | 'tunnel' | 'route' | 'bypass'

/** A real server is identified by its address and port within its virtual server. */
export interface RealServerId {
  readonly ip: IpAddress
  readonly port: number
}

/** A real server and how packets are sent to it. */
export interface RealServer extends RealServerId {
  /** 0: no new connections. */
  readonly weight: number
  readonly forwarding: Forwarding
  /** At this number of connections it gets no new ones until fewer than `lowerThreshold` are left; 0: no limit. */
  readonly upperThreshold: number
  readonly lowerThreshold: number
}

/** A real server as the kernel has it, with its connections. */
export interface RealServerState extends RealServer {
  /** Established TCP and SCTP connections. */
  readonly activeConnections: number
  /** All other connections: half open, closing, and every UDP flow. */
  readonly inactiveConnections: number
  /** Clients that persistence keeps at this real server. */
  readonly persistentConnections: number
  /** Counted since it was added to its virtual server. */
  readonly counters: TrafficCounters
}

/**
 * A change of virtual or real servers. `add…` is refused if the object exists, `set…` and `delete…` if it does not
 * exist.
 */
export type IpvsCommand =
  | {
      readonly do: 'addService' | 'setService'
      readonly id: VirtualServerId
      readonly settings: VirtualServerSettings
    }
  | { readonly do: 'deleteService'; readonly id: VirtualServerId }
  | {
      readonly do: 'addServer' | 'setServer'
      readonly id: VirtualServerId
      readonly server: RealServer
    }
  | {
      readonly do: 'deleteServer'
      readonly id: VirtualServerId
      readonly server: RealServerId
    }

/** One command that was refused; `index` counts the given commands from 0. */
export interface IpvsCommandError {
  readonly index: number
  /** Name of the errno: `EEXIST`. */
  readonly errno: string
  /** Cause and remedy, one line. */
  readonly message: string
}

/** What the kernel reports about ip_vs. */
export interface IpvsInfo {
  /** `1.2.1` */
  readonly version: string
  /** Number of buckets of the connection table. */
  readonly connectionTableSize: number
}

/** Seconds after which the kernel forgets a connection without packets. */
export interface IpvsTimeouts {
  readonly tcp: number
  /** After a FIN. */
  readonly tcpFin: number
  readonly udp: number
}

/**
 * The IP virtual servers of this network namespace. Every method throws
 * NP_KERNEL_IPVS_MISSING on a kernel without ip_vs, and NP_KERNEL_NETLINK when
 * the kernel did not answer or refused to list.
 */
export interface Ipvs {
  /** Version and size of the connection table. */
  info(): Promise<IpvsInfo>
  /**
   * Runs the commands as if in order. Returns the refused ones, by index; all others take effect. If it throws, some
   * may have taken effect.
   */
  run(commands: readonly IpvsCommand[]): Promise<readonly IpvsCommandError[]>
  /**
   * All virtual servers of both families, including those of other programs. If another process adds or deletes one at
   * the same time, that one may be missing, and so may one next to it in the kernel's table.
   */
  services(): Promise<readonly VirtualServer[]>
  /** Undefined if the virtual server does not exist. */
  service(id: VirtualServerId): Promise<VirtualServer | undefined>
  /** The real servers of a virtual server; undefined if the virtual server does not exist. */
  servers(id: VirtualServerId): Promise<readonly RealServerState[] | undefined>
  /** The same for several virtual servers, by `virtualServerKey`; those that do not exist are absent. */
  serversOf(
    ids: readonly VirtualServerId[],
  ): Promise<ReadonlyMap<string, readonly RealServerState[]>>
  /** The timeouts of all connections in this network namespace. */
  timeouts(): Promise<IpvsTimeouts>
  /** Sets the given timeouts; an existing connection keeps its timeout until its next packet. */
  setTimeouts(timeouts: Partial<IpvsTimeouts>): Promise<void>
  /** Sets the counters of one virtual server, or of all, to 0; false if the virtual server does not exist. */
  zero(id?: VirtualServerId): Promise<boolean>
  /** Deletes every virtual server, including those of other programs. */
  flush(): Promise<void>
  /** Closes the socket; the next call opens a new one. */
  close(): void
}

/** `4/tcp/10.96.0.1:80`, `6/tcp/[fd00::1]:80`, `4/mark/1234`: equal for equal ids. */
export function virtualServerKey(id: VirtualServerId): string {
  if ('mark' in id) return `${id.family}/mark/${id.mark}`
  return `${id.family}/${id.protocol.toLowerCase()}/${hostPort(id.ip, id.port)}`
}

/** The same virtual servers; commands are accepted, and change nothing. */
export function readOnlyIpvs(ipvs: Ipvs): Ipvs {
  return {
    info: () => ipvs.info(),
    run: async () => [],
    services: () => ipvs.services(),
    service: (id) => ipvs.service(id),
    servers: (id) => ipvs.servers(id),
    serversOf: (ids) => ipvs.serversOf(ids),
    timeouts: () => ipvs.timeouts(),
    setTimeouts: async () => {},
    zero: async () => false,
    flush: async () => {},
    close: () => ipvs.close(),
  }
}

/** Stands for a kernel without ip_vs. No request is sent, because it would load the module. */
export const noIpvs: Ipvs = {
  info: async () => ({ version: '', connectionTableSize: 0 }),
  run: async () => [],
  services: async () => [],
  service: async () => undefined,
  servers: async () => undefined,
  serversOf: async () => new Map(),
  timeouts: async () => ({ tcp: 0, tcpFin: 0, udp: 0 }),
  setTimeouts: async () => {},
  zero: async () => false,
  flush: async () => {},
  close: () => {},
}
