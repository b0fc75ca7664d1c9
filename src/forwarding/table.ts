import type { IpAddress } from '../lib/ip.ts'
import type { Protocol, ServiceKey } from '../resources/types.ts'
import { type ClaimKey } from './claim-key.ts'
import { Claims, type Holding } from './claims.ts'
import { drainingAfter } from './drain.ts'
import type { DrainingBackend, EntryId, ForwardingEntry, TableDelta } from './entry.ts'
import { compareText } from './entry-id.ts'
import { areSame, isSameEntry, isSameForwarding } from './equality.ts'
import type { NodeContext } from './node-context.ts'
import type { FrontendProblem } from './problems.ts'
import { problemsOf } from './problems.ts'
import { staleFlowsOf, type Transition } from './stale-flows.ts'

const NOTHING: Holding = Object.freeze({ entries: [], clusterIPs: [] })
const UNCHANGED: TableDelta = Object.freeze({ upserts: [], removals: [], staleFlows: [] })

/** `Granted`: every frontend that the entry requested is in the table. */
export type EntryStatus = 'Granted' | 'Conflict' | 'Refused'

/**
 * Everything that this node forwards: the compiled entries of all Services after
 * claims were decided, plus the backends that are draining. Except for the
 * latter, its state depends on the last `replace` of each Service alone. A call
 * costs the size of its Service and of the rivals whose claims it moves.
 */
export class ForwardingTable {
  #drainSeconds: Readonly<Record<Protocol, number>>
  readonly #claims = new Claims()
  readonly #holdings = new Map<ServiceKey, Holding>()
  /** As compiled. */
  readonly #wanted = new Map<EntryId, ForwardingEntry>()
  /** As granted; the same object as in `#wanted` when nothing was taken from it. */
  readonly #published = new Map<EntryId, ForwardingEntry>()
  readonly #problems = new Map<EntryId, readonly FrontendProblem[]>()
  /** The earliest deadline of each entry that is draining. */
  readonly #deadlines = new Map<EntryId, number>()

  constructor({ drainSeconds }: Pick<NodeContext, 'drainSeconds'>) {
    this.#drainSeconds = drainSeconds
  }

  /** Holds for backends that leave from now on. */
  setDrainSeconds(drainSeconds: NodeContext['drainSeconds']): void {
    this.#drainSeconds = drainSeconds
  }

  /**
   * Sets all entries of one Service; none removes it. `now` is in milliseconds
   * since the epoch. `clusterIPs` protects addresses of a Service that has no
   * entries of its own (see `clusterIPsOf`); those of its entries always are.
   */
  replace(
    key: ServiceKey,
    entries: readonly ForwardingEntry[],
    now: number,
    clusterIPs: readonly IpAddress[] = [],
  ): TableDelta {
    const before = this.#holdings.get(key) ?? NOTHING
    const after = holdingOf(this.#reuse(entries), clusterIPs)
    if (isSameHolding(before, after)) return UNCHANGED
    for (const { id } of before.entries) this.#wanted.delete(id)
    for (const entry of after.entries) this.#wanted.set(entry.id, entry)
    if (isNothing(after)) this.#holdings.delete(key)
    else this.#holdings.set(key, after)
    return this.#publish(this.#claims.replace(key, before, after), now)
  }

  /** Lets go of the backends whose time is up. */
  expire(now: number): TableDelta {
    const due = [...this.#deadlines].filter(([, until]) => until <= now).map(([id]) => id)
    return due.length === 0 ? UNCHANGED : this.#publish(due, now)
  }

  /** When `expire` has something to do next, in milliseconds since the epoch. */
  nextDeadline(): number | undefined {
    let next: number | undefined
    for (const until of this.#deadlines.values()) {
      if (next === undefined || until < next) next = until
    }
    return next
  }

  get size(): number {
    return this.#published.size
  }

  get(id: EntryId): ForwardingEntry | undefined {
    return this.#published.get(id)
  }

  entries(): Iterable<ForwardingEntry> {
    return this.#published.values()
  }

  /** The entry that was granted this ip:port:protocol. */
  holder(key: ClaimKey): ForwardingEntry | undefined {
    const id = this.#claims.holder(key)
    return id === undefined ? undefined : this.#published.get(id)
  }

  /** The Services whose ClusterIP this is. */
  ownersOf(ip: IpAddress): readonly ServiceKey[] {
    return this.#claims.ownersOf(ip)
  }

  /** Undefined for an entry that does not exist. */
  statusOf(id: EntryId): EntryStatus | undefined {
    if (!this.#wanted.has(id)) return undefined
    const problems = this.#problems.get(id)
    if (problems === undefined) return 'Granted'
    return problems.some(({ status }) => status === 'Conflict') ? 'Conflict' : 'Refused'
  }

  /** Every requested frontend that was not granted, by entry id. */
  problems(): readonly FrontendProblem[] {
    const ids = [...this.#problems.keys()].sort(compareText)
    return ids.flatMap((id) => this.#problems.get(id) ?? [])
  }

  /** Keeps the entry that the table has when a new one is equal. */
  #reuse(entries: readonly ForwardingEntry[]): readonly ForwardingEntry[] {
    return entries.map((entry) => {
      const known = this.#wanted.get(entry.id)
      return known !== undefined && isSameEntry(known, entry) ? known : entry
    })
  }

  #publish(ids: Iterable<EntryId>, now: number): TableDelta {
    const upserts: ForwardingEntry[] = []
    const removals: EntryId[] = []
    const transitions: Transition[] = []
    for (const id of ids) {
      const before = this.#published.get(id)
      const after = this.#decide(id, before, now)
      transitions.push({ before, after })
      if (after !== undefined) {
        this.#published.set(id, after)
        if (after !== before) upserts.push(after)
      } else if (this.#published.delete(id)) removals.push(id)
    }
    return { upserts, removals, staleFlows: staleFlowsOf(transitions) }
  }

  /** The entry as granted now; `before` itself when nothing changed; undefined without frontends. */
  #decide(
    id: EntryId,
    before: ForwardingEntry | undefined,
    now: number,
  ): ForwardingEntry | undefined {
    const wanted = this.#wanted.get(id)
    const problems = wanted === undefined ? [] : problemsOf(wanted, this.#claims)
    if (problems.length > 0) this.#problems.set(id, problems)
    else this.#problems.delete(id)
    const granted = wanted && this.#granted(wanted)
    const seconds = wanted === undefined ? 0 : this.#drainSeconds[wanted.protocol]
    const draining = granted && drainingAfter(before, granted, { now, seconds })
    this.#setDeadline(id, draining ?? [])
    if (granted === undefined || draining === undefined) return undefined
    const after = draining.length === 0 ? granted : { ...granted, draining }
    return before !== undefined && isSameForwarding(before, after) ? before : after
  }

  #granted(wanted: ForwardingEntry): ForwardingEntry | undefined {
    const { frontends } = wanted
    const granted = frontends.filter((one) => this.#claims.denial(wanted, one) === undefined)
    if (granted.length === 0) return undefined
    return granted.length === frontends.length ? wanted : { ...wanted, frontends: granted }
  }

  #setDeadline(id: EntryId, draining: readonly DrainingBackend[]): void {
    if (draining.length === 0) this.#deadlines.delete(id)
    else this.#deadlines.set(id, Math.min(...draining.map(({ until }) => until)))
  }
}

function holdingOf(entries: readonly ForwardingEntry[], clusterIPs: readonly IpAddress[]): Holding {
  const owned = new Set(clusterIPs)
  for (const { frontends } of entries) {
    for (const { kind, ip } of frontends) {
      if (kind === 'clusterIP' && ip !== 'node') owned.add(ip)
    }
  }
  return { entries, clusterIPs: [...owned].sort(compareText) }
}

function isSameHolding(a: Holding, b: Holding): boolean {
  return areSame(a.entries, b.entries, Object.is) && areSame(a.clusterIPs, b.clusterIPs, Object.is)
}

function isNothing({ entries, clusterIPs }: Holding): boolean {
  return entries.length === 0 && clusterIPs.length === 0
}
