/** Connections that a node has forwarded to one backend of a Service. */
export interface BackendConnections {
  /** `10.0.0.1:8080` */
  readonly backend: string
  readonly connections: number
}

/** What a node has counted for one port and family of a Service, since its counters were made. */
export interface TrafficFacts {
  readonly node: string
  /** `namespace/name` */
  readonly service: string
  /** Empty where the mode of the node does not count backends. */
  readonly backends: readonly BackendConnections[]
}

/** The most characters of a text that comes from another machine. */
const MAX_TEXT = 500
const MAX_TIME = 8.64e15

/** A text without control, formatting and unpaired characters, at most 500 characters long; absent: empty. */
const text: Schema<string> = (value) =>
  typeof value === 'string' ? value.slice(0, MAX_TEXT).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?') : ''

/** A finite number; absent: 0. */
const number: Schema<number> = (value) =>
  typeof value === 'number' && Number.isFinite(value) ? value : 0

/** Milliseconds since the epoch, such that a Date has them (ECMA-262, time values); absent: 0. */
const time: Schema<number> = (value) => {
  const ms = number(value)
  return Math.abs(ms) <= MAX_TIME ? ms : 0
}

/** Absent: false. */
const flag: Schema<boolean> = (value) => value === true

/** How the path of a packet ends: the last rule, route or socket. */
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
  /** Packets that the rule has counted so far; -1: the rule has no counter. */
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
  /** The effective `rp_filter` of IPv4: 0 none, 1 strict, 2 loose. */
  rpFilter: number,
})

const COUNTERS = object({
  drop: number,
  earlyDrop: number,
  insertFailed: number,
  /** Clashes of simultaneous packets of one socket that the kernel resolved without loss; -1: not counted. */
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
  /** The code of each reason, in their order; none: of a daemon that sends no codes. */
  reasonCodes: list(text, 20),
  warnings: list(text, 50),
  /** Whether NetworkPolicies are enforced, in words; empty: a daemon that does not know them. */
  policies: text,
  /** What prevents that addresses are announced on the network of the node, in sentences. */
  announcements: list(text, 10),
  /** What prevents that addresses are announced to routers, in sentences. */
  routes: list(text, 10),
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
  /** The configuration of the running daemon, else of the file that was named; undefined: there is neither. */
  configuration: optional(
    object({
      mode: text,
      scheduler: text,
      masqueradeAll: flag,
      isOfDaemon: flag,
      /** Settings that all nodes of a cluster should have alike, as JSON by their paths. */
      shared: texts(50),
    }),
  ),
  /** loaded, builtIn, loadable, absent or unknown, by name. */
  modules: texts(50),
  /** Whether this kernel has IPVS. */
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
  /** Rules that have masqueraded connections and do not choose the source port at random. */
  masquerades: list(
    object({
      /** `iptables-nft nat POSTROUTING`, `nft ip firewall postrouting`. */
      where: text,
      rule: text,
      /** Connections that the rule has counted so far; -1: the rule has no counter. */
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
 * Decodes facts from JSON that another machine sent. Control characters are removed from texts, lists are truncated,
 * and values of another type are left out. Undefined: the document has another format.
 */
export function decodeNodeFacts(json: unknown): NodeFacts | undefined {
  const facts = NODE_FACTS(json)
  return facts.format === FACTS_FORMAT && facts.node !== '' ? facts : undefined
}

/** Reads untrusted JSON: a value of another type counts as absent. Never throws. */
type Schema<T> = (value: unknown) => T

/** What a schema reads. */
type Read<S> = S extends Schema<infer T> ? T : never

/** One of these words; absent: the first. */
function word<const W extends string>(...words: readonly [W, ...W[]]): Schema<W> {
  return (value) => words.find((one) => one === value) ?? words[0]
}

/** At most `max` items; absent: none. */
function list<T>(item: Schema<T>, max: number): Schema<readonly T[]> {
  return (value) => (Array.isArray(value) ? value.slice(0, max).map((one) => item(one)) : [])
}

/** Texts by keys, at most `max`; absent: none. */
function texts(max: number): Schema<Readonly<Record<string, string>>> {
  return (value) =>
    Object.fromEntries(
      Object.entries(objectOf(value))
        .slice(0, max)
        .map(([key, one]) => [text(key), text(one)]),
    )
}

/** What `inner` reads; undefined: the value is not an object. */
function optional<T>(inner: Schema<T>): Schema<T | undefined> {
  return (value) => (typeof value === 'object' && value !== null ? inner(value) : undefined)
}

type Fields = Readonly<Record<string, Schema<unknown>>>

/** An object with these fields and no others; absent: an object whose fields are all absent. */
function object<F extends Fields>(fields: F): Schema<{ readonly [K in keyof F]: Read<F[K]> }> {
  const entries = Object.entries(fields)
  return (value) => {
    const found = objectOf(value)
    const read = entries.map(([key, schema]) => [
      key,
      schema(Object.hasOwn(found, key) ? found[key] : undefined),
    ])
    return Object.fromEntries(read) as { readonly [K in keyof F]: Read<F[K]> }
  }
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? (value as Readonly<Record<string, unknown>>) : {}
}
