import type { EntryId, ForwardingEntry } from '../forwarding/entry.ts'
import type { Brand } from '../lib/brand.ts'
import type { Family } from '../lib/ip.ts'

/** Names one kernel object of a mode, for example `4/nat/NPROXY-C-4KJ2…`. */
export type ObjectKey = Brand<string, 'ObjectKey'>

/** 53-bit hash of the object's content; two objects are equal when their digests are. */
export type Digest = Brand<number, 'Digest'>

/** Something of the Service API that this mode cannot do, and why. */
export interface Gap {
  readonly scenario: string
  readonly reason: string
}

export interface Missing {
  readonly what: string
  readonly remedy: string
}

/** Something that a mode cannot work without. */
export interface MissingRequirement extends Missing {
  /** Has a row in docs/errors.md. */
  readonly code: string
}

/** Can this kernel do it? `facts` go to the log and to /proxyMode. */
export interface Probe {
  readonly missing: readonly Missing[]
  readonly facts: Readonly<Record<string, string>>
}

/** What an object is, for those who count objects and rules. */
export interface ObjectDescription {
  /** `chain`, `set`, `virtual_server`, …: a label of metrics. */
  readonly kind: string
  /** Undefined: it is of no single family. */
  readonly family: Family | undefined
  /** Packet filter rules in it, and their table; absent where it is made of none. */
  readonly rules?: { readonly table: string; readonly count: number }
}

/**
 * The mode's picture of what the kernel should hold: entries in, objects out.
 * In memory and pure: its state depends on the current entries alone, never on
 * the order in which they came.
 */
export interface Program {
  /** Adds, replaces or (undefined) removes one entry. */
  replace(id: EntryId, entry: ForwardingEntry | undefined): void
  /** Objects that changed since the last call: new digest, or undefined when no longer wanted. */
  takeChanges(): ReadonlyMap<ObjectKey, Digest | undefined>
  /** The entries that an object belongs to; empty for scaffolding. */
  ownersOf(key: ObjectKey): readonly EntryId[]
  /** Any object of the mode, one that no entry wants too. */
  describe(key: ObjectKey): ObjectDescription
}

export interface Change {
  /** Wanted objects that the kernel lacks or holds differently. */
  readonly set: readonly ObjectKey[]
  /** Objects of ours that the kernel holds and no entry wants. */
  readonly unset: readonly ObjectKey[]
}

export interface KernelError {
  readonly code: string
  readonly message: string
}

export interface ApplyResult {
  /** Objects that the kernel refused; everything else in the change is done. */
  readonly failed: ReadonlyMap<ObjectKey, KernelError>
  /** Objects that stand otherwise than before and than wanted, as a refused chain that is empty. */
  readonly left?: ReadonlyMap<ObjectKey, Digest>
  /** It is unknown what of the failed part took effect: the kernel must be read again. */
  readonly uncertain?: boolean
}

/** What a mode saw on its own: nothing specific (look at everything) or these objects. */
export type ForeignChange = { readonly keys: readonly ObjectKey[] | 'all'; readonly by: string }

/** What a mode has counted that moves the bytes itself; since it began, but for what is `…Now`. */
export interface TrafficCounts {
  readonly connections: number
  readonly connectionsNow: number
  readonly udpFlows: number
  readonly udpFlowsNow: number
  /** Of TCP and UDP payload, client to backend and back. */
  readonly bytesIn: number
  readonly bytesOut: number
  /** Connection attempts to a backend that failed, and further ones to another backend. */
  readonly connectFailures: number
  readonly connectRetries: number
  /** Clients that no backend took. */
  readonly unserved: number
  /** Clients that were refused because there were as many connections as allowed. */
  readonly overLimit: number
  /** Idle connections that were ended to make space for others. */
  readonly evicted: number
  /** Clients outside the source ranges of the Service. */
  readonly outsideRanges: number
  /** Connections that were ended when the time to drain was over. */
  readonly drainedOut: number
  /** Backends that get nothing for a while because connections to them failed, in each worker. */
  readonly setAsideNow: number
  /** Backends that left and still have connections, in each worker. */
  readonly drainingNow: number
  /** Clients that session affinity remembers, and those that it forgot because its table was full. */
  readonly affinityClientsNow: number
  readonly affinityEvicted: number
}

/** The data path of such a mode. */
export interface Traffic {
  readonly dataPath: string
  readonly workers: number
  /** Local ports to which its rules translate. */
  readonly ownPorts: ReadonlySet<number>
  counts(): TrafficCounts
}

export interface Mode {
  readonly name: string
  readonly gaps: readonly Gap[]
  readonly program: Program
  /** Backends that get nothing new and keep their connections for a while; absent: the mode knows none. */
  readonly draining?: number
  /** Absent: the kernel moves the bytes. */
  readonly traffic?: Traffic | undefined
  probe(): Promise<Probe>
  /** Programs one change; never throws for a kernel refusal. */
  apply(change: Change): Promise<ApplyResult>
  /** What the kernel holds of ours: everything, or only these keys. */
  observe(keys?: readonly ObjectKey[]): Promise<ReadonlyMap<ObjectKey, Digest>>
  /** Calls back when another process touched our objects. The result stops it. */
  watch(onForeignChange: (change: ForeignChange) => void): () => void
  /** Removes every trace of this mode, and nothing else. */
  cleanup(): Promise<void>
  /**
   * Leaves the node to another mode that serves already: takes no new connection
   * any more, keeps those that depend on it until they end or their time is over,
   * then removes every trace. It also finds what an earlier run left, and does
   * nothing on a kernel without any. An abort leaves the kernel as it is then.
   */
  drainAndCleanup(signal: AbortSignal): Promise<void>
}
