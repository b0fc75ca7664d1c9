import {
  flag,
  list,
  number,
  object,
  optional,
  type Read,
  text,
  texts,
  time,
  word,
} from './schema/schema.ts'

/** What a packet meets in the end: the last rule, route or socket of its way. */
const OUTCOME = object({
  kind: word('uncertain', 'delivered', 'refused', 'silent'),
  /** 0 to 1. */
  share: number,
  /** How it is refused, which rule dropped it, why nothing is known, or where it is delivered. */
  text,
  /** `iptables filter FORWARD`, `nft inet firewall input`, `route`, `socket`. */
  where: text,
  /** The rule as its program lists it; empty: no rule decided. */
  rule: text,
  /** Packets that the rule has counted so far; -1: it counts none. */
  packets: number,
  /** Whether node-proxy wrote the rule. */
  isOwn: flag,
})

/** The first packet of a connection, followed through what the kernel holds. */
const WALK = object({
  purpose: word(
    'fromPod',
    'fromNode',
    'fromOutside',
    'fromClient',
    'noLocalEndpoint',
    'toLoopback',
  ),
  /** `namespace/name:port/protocol/family`; empty: of no Service. */
  entry: text,
  service: text,
  /** clusterIP, nodePort, externalIP or loadBalancerIP. */
  frontend: text,
  sourceRanges: list(text, 20),
  src: text,
  dst: text,
  port: number,
  protocol: text,
  /** Empty: from a process of the node. */
  inInterface: text,
  /** What node-proxy wants: deliver, reject, drop or unhandled; empty: not known. */
  desired: text,
  outcomes: list(OUTCOME, 100),
})

const INTERFACE = object({
  name: text,
  /** veth, bridge, vxlan; empty: a device. */
  kind: text,
  mtu: number,
  /** The bridge or bond that it is a port of. */
  master: text,
  /** The device that carries what a tunnel sends. */
  lower: text,
  isUp: flag,
  /** Whether the name resolution of the tunnel is IPv6. */
  isTunnelV6: flag,
  /** `rp_filter` that is at work in IPv4: 0 none, 1 strict, 2 loose. */
  rpFilter: number,
})

const COUNTERS = object({
  drop: number,
  earlyDrop: number,
  insertFailed: number,
  /** Packets of one socket that came at once, of which the kernel lost none; -1: it does not count them. */
  clashesResolved: number,
  /** Packets that rp_filter dropped (TcpExt IPReversePathFilter). */
  reversePath: number,
})

const DAEMON = object({
  mode: text,
  isReady: flag,
  /** Milliseconds since the epoch. */
  startedAt: time,
  reasons: list(text, 20),
  warnings: list(text, 50),
  services: number,
  entries: number,
  backends: number,
  /** Milliseconds from a change to the kernel, of the last changes. */
  changes: object({ count: number, p50: number, p99: number }),
  refusals: list(object({ object: text, code: text, message: text }), 20),
  problems: list(object({ entry: text, code: text, message: text }), 20),
  /** Milliseconds since the epoch. */
  credentials: list(object({ kind: text, expiresAt: time, lateFrom: optional(time) }), 10),
})

const BACKEND_LOAD = object({
  ip: text,
  port: number,
  /** Connections between the two reads, and those open now; -1: not counted. */
  connections: number,
  connectionsNow: number,
})

const NODE_FACTS = object({
  /** 1: this format. */
  format: number,
  node: text,
  version: text,
  kernel: text,
  /** When it was read, in milliseconds since the epoch. */
  at: time,
  /** What could not be read, and why. */
  unread: list(object({ what: text, why: text }), 50),
  /** Undefined: node-proxy does not answer, for the reason in `daemonAbsent`. */
  daemon: optional(DAEMON),
  daemonAbsent: text,
  /** Of the running daemon, else of the file that was named; undefined: neither. */
  configuration: optional(
    object({
      ...{ mode: text, scheduler: text, masqueradeAll: flag, isOfDaemon: flag },
      /** Settings that all nodes of a cluster should have alike, as JSON by their paths. */
      shared: texts(50),
    }),
  ),
  /** loaded, builtIn, loadable, absent or unknown, by name. */
  modules: texts(50),
  /** Whether IPVS is at work in this kernel. */
  hasIpvs: flag,
  /** Kernel settings by their names with dots; one that the kernel does not have is absent. */
  settings: texts(100),
  interfaces: list(INTERFACE, 4_000),
  /** The interface of the default route. */
  uplink: text,
  /** Backends of Services on this node, by the interface that leads to them. */
  localBackends: list(object({ interface: text, count: number }), 4_000),
  conntrack: optional(object({ count: number, max: number })),
  /** Two reads of the same counters; undefined: the kernel does not count. */
  counters: optional(object({ before: COUNTERS, after: COUNTERS, seconds: number })),
  rules: list(
    object({
      /** `iptables-nft`, `ip6tables-legacy`, `nft`. */
      program: text,
      own: number,
      others: number,
    }),
    20,
  ),
  /** Rules that have given connections a source port, and not one at random. */
  masquerades: list(
    object({
      /** `iptables-nft nat POSTROUTING`, `nft ip firewall postrouting`. */
      where: text,
      rule: text,
      /** Connections that the rule has counted so far; -1: it counts none. */
      packets: number,
    }),
    20,
  ),
  proxies: list(
    object({ proxy: text, traces: list(text, 50), pids: list(number, 50), remedy: text }),
    20,
  ),
  walks: list(WALK, 200),
  /** Sockets of other processes at node ports. */
  takenPorts: list(
    object({
      protocol: text,
      address: text,
      port: number,
      process: text,
      pid: number,
      entry: text,
    }),
    200,
  ),
  /** Local backends that were connected to; only on request. */
  connects: list(
    object({
      entry: text,
      service: text,
      ip: text,
      port: number,
      answer: word('silent', 'accepts', 'refuses'),
    }),
    500,
  ),
  /** Service ports with several backends whose connections the mode counts. */
  loads: list(
    object({
      entry: text,
      service: text,
      affinitySeconds: number,
      backends: list(BACKEND_LOAD, 1_000),
    }),
    200,
  ),
})

/** Evidence about one node, read at one moment by `node-proxy facts`; plain JSON. */
export interface NodeFacts extends Read<typeof NODE_FACTS> {}
export type WalkFacts = Read<typeof WALK>
export type WalkOutcomeFacts = Read<typeof OUTCOME>
export type InterfaceFacts = Read<typeof INTERFACE>
export type DaemonFacts = Read<typeof DAEMON>
export type CounterFacts = Read<typeof COUNTERS>

/** The format that `node-proxy facts` writes. */
export const FACTS_FORMAT = 1

/**
 * Facts from JSON that another machine sent: texts without control characters, lists bounded, what does not fit left
 * out. Undefined: it is no document of this format.
 */
export function decodeNodeFacts(json: unknown): NodeFacts | undefined {
  const facts = NODE_FACTS(json)
  return facts.format === FACTS_FORMAT && facts.node !== '' ? facts : undefined
}
