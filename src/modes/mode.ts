import type { EntryId, ForwardingEntry, ServiceKey } from '../forwarding/entry.ts'
import type { Brand } from '../lib/brand.ts'
import type { Cidr, Family, IpAddress } from '../lib/ip.ts'

/**
 * Names one object of a mode: a chain, a set, a member of a set, a virtual server, …, for example
 * `4/nat/NPROXY-C-4KJ2…`. Only the mode that made it reads its parts.
 */
export type ObjectKey = Brand<string, 'ObjectKey'>

/** 53-bit hash of the object's content; two objects are equal when their digests are. */
export type Digest = Brand<number, 'Digest'>

/** A feature of the Service API that this mode does not support, and why; docs/semantics.md lists all gaps. */
export interface Gap {
  /** A few words, for example `endpoint weights`. */
  readonly scenario: string
  readonly reason: string
}

/** A kernel feature, privilege or program that was not found. */
export interface Missing {
  readonly what: string
  /** What the operator can do, where possible as a command. */
  readonly remedy: string
}

/** A requirement that is not met; the mode cannot work without it. */
export interface MissingRequirement extends Missing {
  /** Has a row in docs/errors.md. */
  readonly code: string
}

/** What `Mode.probe` found. `facts`, for example versions, go to the log and to /proxyMode. */
export interface Probe {
  /** Empty: the mode can work. */
  readonly missing: readonly Missing[]
  readonly facts: Readonly<Record<string, string>>
}

/** What an object is, for metrics of objects and rules. */
export interface ObjectDescription {
  /** `chain`, `set`, `virtual_server`, …: a label of metrics. */
  readonly kind: string
  /** Undefined if the object does not belong to a single family. */
  readonly family: Family | undefined
  /** The table and number of packet filter rules in the object; absent if it contains no rules. */
  readonly rules?: { readonly table: string; readonly count: number }
}

/**
 * The objects that the kernel should hold, computed from the entries. In memory and pure: its state depends on the
 * current entries alone, never on the order in which they came.
 */
export interface Program {
  /** Adds, replaces or (undefined) removes one entry. */
  replace(id: EntryId, entry: ForwardingEntry | undefined): void
  /** Objects that changed since the last call: new digest, or undefined when no longer wanted. */
  takeChanges(): ReadonlyMap<ObjectKey, Digest | undefined>
  /** The entries that an object belongs to; empty for what all Services share. */
  ownersOf(key: ObjectKey): readonly EntryId[]
  /** Any object of the mode, also one that is no longer wanted. */
  describe(key: ObjectKey): ObjectDescription
}

/** What `apply` has to write. Objects of all kinds are mixed; the mode decides the order. */
export interface Change {
  /** Wanted objects that are missing in the kernel or differ there. */
  readonly set: readonly ObjectKey[]
  /** Objects of ours that the kernel holds and that are not wanted. */
  readonly unset: readonly ObjectKey[]
}

/** Why the kernel, or the forwarder of userspace mode, refused an object. */
export interface KernelError {
  /** Has a row in docs/errors.md. */
  readonly code: string
  /** Includes the kernel's own error text. */
  readonly message: string
}

/** Objects in neither map are now as wanted. */
export interface ApplyResult {
  /** Objects that the kernel refused; they are as before, unless `left` has them. */
  readonly failed: ReadonlyMap<ObjectKey, KernelError>
  /** Objects that are now neither as before nor as wanted, for example an empty chain, with their present digests. */
  readonly left?: ReadonlyMap<ObjectKey, Digest>
  /** It is unknown which of the failed objects were written: the kernel must be read again. */
  readonly uncertain?: boolean
}

/** A change of our objects by another process. */
export interface ForeignChange {
  /** `all` if it is unknown which objects changed; everything has to be read then. */
  readonly keys: readonly ObjectKey[] | 'all'
  /** Who did it, for the log: `iptables (pid 7)`, or `another program`. */
  readonly by: string
}

/**
 * Counters of a mode that moves the bytes itself. Names that end in `Now` are current values, all others totals since
 * the data path was opened.
 */
export interface TrafficCounts {
  /** TCP connections from clients. */
  readonly connections: number
  readonly connectionsNow: number
  readonly udpFlows: number
  readonly udpFlowsNow: number
  /** TCP and UDP payload: from clients to backends, and back. */
  readonly bytesIn: number
  readonly bytesOut: number
  /** Failed connection attempts to a backend, and the retries with another backend. */
  readonly connectFailures: number
  readonly connectRetries: number
  /** Clients that no backend accepted, including those of Services without backends. */
  readonly unserved: number
  /** Clients that were rejected at a limit of connections. */
  readonly overLimit: number
  /** Idle connections that were ended so that a new client could be served at the limit. */
  readonly evicted: number
  /** Clients outside the source ranges of the Service. */
  readonly outsideRanges: number
  /** Connections that were closed because the drain time was over. */
  readonly drainedOut: number
  /** Backends that are tried last for a while because connections to them failed; each worker counts its own. */
  readonly setAsideNow: number
  /** Backends that were removed and still have connections; each worker counts its own. */
  readonly drainingNow: number
  /** Clients that session affinity remembers, and those that it forgot because its table was full. */
  readonly affinityClientsNow: number
  readonly affinityEvicted: number
}

/** The data path of a mode that moves the bytes itself. */
export interface Traffic {
  /** `native` or `javascript`. */
  readonly dataPath: string
  readonly workers: number
  /** Local ports to which the mode's rules translate packets. */
  readonly ownPorts: ReadonlySet<number>
  counts(): TrafficCounts
}

/**
 * What was forwarded since the counters were made. A number that the mode does not count is absent,
 * never 0; `in`: from clients to backends.
 */
export interface TrafficNumbers {
  /** TCP and SCTP connections, and UDP flows. */
  readonly connections?: number
  readonly connectionsNow?: number
  readonly packetsIn?: number
  readonly bytesIn?: number
  readonly packetsOut?: number
  readonly bytesOut?: number
}

/** The sum, with the numbers that only one of the two has; undefined: nothing yet. */
export function addNumbers(to: TrafficNumbers | undefined, more: TrafficNumbers): TrafficNumbers {
  if (to === undefined) return more
  const names = Object.keys(more) as (keyof TrafficNumbers)[]
  const sums = names.map((name) => [name, (to[name] ?? 0) + (more[name] ?? 0)] as const)
  return { ...to, ...Object.fromEntries(sums) }
}

/** What one backend of an entry received and sent. */
export interface BackendTraffic extends TrafficNumbers {
  readonly entry: EntryId
  readonly ip: IpAddress
  readonly port: number
}

/** What backends received and sent, summed up by Service, entry and address. */
export class BackendSums {
  readonly #found = new Map<ServiceKey, Map<string, BackendTraffic>>()

  add(service: ServiceKey, backend: BackendTraffic): void {
    const { entry, ip, port, ...numbers } = backend
    const name = `${entry} ${ip} ${port}`
    const backends = this.#found.get(service) ?? new Map<string, BackendTraffic>()
    this.#found.set(service, backends)
    backends.set(name, { ...backend, ...addNumbers(backends.get(name), numbers) })
  }

  get byService(): TrafficReading['backends'] {
    return new Map([...this.#found].map(([service, backends]) => [service, [...backends.values()]]))
  }
}

/** What a mode counted, as of one moment. */
export interface TrafficReading {
  /** By Service; a Service without any traffic may be absent. */
  readonly totals: ReadonlyMap<ServiceKey, TrafficNumbers>
  /** Only Services that were requested, in no particular order; empty if the mode does not count by backend. */
  readonly backends: ReadonlyMap<ServiceKey, readonly BackendTraffic[]>
}

/**
 * Reads the counters. `isWanted` selects the Services whose backends are read as well; without it no backends are
 * read.
 */
export type ReadTraffic = (isWanted?: (service: ServiceKey) => boolean) => Promise<TrafficReading>

/** One way to program the kernel; README.md describes the contract. */
export interface Mode {
  readonly name: string
  readonly gaps: readonly Gap[]
  /** Networks in which the mode refuses connections to addresses that no Service has; absent: none. */
  readonly refusedRanges?: readonly Cidr[] | undefined
  readonly program: Program
  /** The number of backends that get no new connections and keep theirs; absent: the mode cannot drain. */
  readonly draining?: number
  /** Absent: the kernel moves the bytes. */
  readonly traffic?: Traffic | undefined
  /** Absent if the mode cannot count, or counting is not configured. */
  readonly readTraffic?: ReadTraffic | undefined
  /** Tests whether the kernel supports what the mode needs; leaves nothing behind. */
  probe(): Promise<Probe>
  /**
   * Programs one change; objects that the kernel refuses are in the result. After a thrown error the state of the
   * kernel is unknown.
   */
  apply(change: Change): Promise<ApplyResult>
  /** Reads our objects from the kernel: all, or only these keys. An object that does not exist is not in the result. */
  observe(keys?: readonly ObjectKey[]): Promise<ReadonlyMap<ObjectKey, Digest>>
  /** Calls back when another process changed our objects. The result stops it. */
  watch(onForeignChange: (change: ForeignChange) => void): () => void
  /**
   * Removes everything that this mode, also in earlier runs, left in the kernel, and nothing else. Rejects if
   * something stays.
   */
  cleanup(): Promise<void>
  /**
   * Hands over to another mode that serves already: takes no new connections, keeps the existing ones that depend on
   * this mode until they end or the drain time is over, then removes every trace. This includes what an earlier run
   * left. Does nothing if the kernel holds nothing of the mode. An abort leaves the kernel as it is at that moment.
   */
  drainAndCleanup(signal: AbortSignal): Promise<void>
  /**
   * Takes no new connections any more, because another mode that serves already takes them; everything else stays.
   * Absent in a mode whose rules forward without this process.
   */
  takeNoMore?(): Promise<void>
}
