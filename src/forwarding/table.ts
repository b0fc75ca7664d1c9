import { hostPort, type IpAddress } from '../lib/ip.ts'
import type { Protocol, ServiceKey } from '../resources/types.ts'
import { compareBackends } from './backends.ts'
import { type ClaimKey, Claims, claimKey, type ServiceClaims } from './claims.ts'
import {
  type Backend,
  compareText,
  type DrainingBackend,
  type EntryId,
  type ForwardingEntry,
  type Frontend,
  type StaleFlows,
  type TableDelta,
} from './entry.ts'
import { areSame, isSameEntry, isSameForwarding } from './equality.ts'
import type { NodeContext } from './node-context.ts'
import { type FrontendProblem, problemsOf } from './problems.ts'

const NO_CLAIMS: ServiceClaims = Object.freeze({ entries: [], clusterIPs: [] })
const UNCHANGED: TableDelta = Object.freeze({ upserts: [], removals: [], staleFlows: [] })

/**
 * `Granted`: the entry got every frontend that it requested. `Conflict`: another entry holds at least one of them.
 * `Refused`: none is held by another entry, but a rule forbids at least one of them.
 */
export type EntryStatus = 'Granted' | 'Conflict' | 'Refused'

/**
 * Everything that this node forwards: the compiled entries of all Services with the frontends that they were
 * granted, and the backends that are draining. Apart from draining, its state depends only on the last `replace` of
 * each Service. The time that `replace` takes grows with the size of the Service and of the entries that claim the same
 * addresses, not with the size of the table. Times are milliseconds of one clock, which the caller chooses.
 */
export class ForwardingTable {
  #drainSeconds: Readonly<Record<Protocol, number>>
  readonly #claims = new Claims()
  /** The claims of each Service, from its last `replace`. */
  readonly #requested = new Map<ServiceKey, ServiceClaims>()
  /** Entries as compiled. */
  readonly #wanted = new Map<EntryId, ForwardingEntry>()
  /**
   * Entries with the frontends that they were granted, and with their draining backends. A new entry is the same object
   * as in `#wanted` if it got all frontends and no backend drains.
   */
  readonly #published = new Map<EntryId, ForwardingEntry>()
  readonly #problems = new Map<EntryId, readonly FrontendProblem[]>()
  /** For each entry with draining backends, the earliest deadline of them. */
  readonly #deadlines = new Map<EntryId, number>()

  constructor({ drainSeconds }: Pick<NodeContext, 'drainSeconds'>) {
    this.#drainSeconds = drainSeconds
  }

  /**
   * Sets for how many seconds, by protocol, a backend drains if it is removed from now on. Existing deadlines stay; but
   * if the new time is 0, an entry loses its draining backends when it is next changed.
   */
  setDrainSeconds(drainSeconds: NodeContext['drainSeconds']): void {
    this.#drainSeconds = drainSeconds
  }

  /**
   * Replaces all entries of one Service; an empty list removes them. `clusterIPs`: the ClusterIPs of the Service (see
   * `clusterIPsOf`), which are needed if it has no entries. No other Service can get these addresses as external
   * addresses. The ClusterIPs in `entries` are always protected like this.
   * @returns the difference that this makes, also in entries of other Services
   */
  replace(
    key: ServiceKey,
    entries: readonly ForwardingEntry[],
    now: number,
    clusterIPs: readonly IpAddress[] = [],
  ): TableDelta {
    const before = this.#requested.get(key) ?? NO_CLAIMS
    const after = claimsOf(this.#reuse(entries), clusterIPs)
    if (areSameClaims(before, after)) return UNCHANGED
    for (const { id } of before.entries) this.#wanted.delete(id)
    for (const entry of after.entries) this.#wanted.set(entry.id, entry)
    if (isEmpty(after)) this.#requested.delete(key)
    else this.#requested.set(key, after)
    return this.#update(this.#claims.replace(key, before, after), now)
  }

  /** Removes the draining backends whose deadline is at or before `now`. */
  expire(now: number): TableDelta {
    const due = [...this.#deadlines].filter(([, until]) => until <= now).map(([id]) => id)
    return due.length === 0 ? UNCHANGED : this.#update(due, now)
  }

  /** The earliest deadline of all draining backends; undefined if none drains. */
  nextDeadline(): number | undefined {
    let next: number | undefined
    for (const until of this.#deadlines.values()) {
      if (next === undefined || until < next) next = until
    }
    return next
  }

  /** The number of entries that this node forwards. */
  get size(): number {
    return this.#published.size
  }

  /** The entry with the frontends that it was granted; undefined if it was granted none or does not exist. */
  get(id: EntryId): ForwardingEntry | undefined {
    return this.#published.get(id)
  }

  /** All entries with the frontends that they were granted, in no particular order. */
  entries(): Iterable<ForwardingEntry> {
    return this.#published.values()
  }

  /** The entry that was granted this ip:port:protocol; undefined if none was. */
  holder(key: ClaimKey): ForwardingEntry | undefined {
    const id = this.#claims.holder(key)
    return id === undefined ? undefined : this.#published.get(id)
  }

  /** These flows, with the backends that serve their frontends now. */
  withPresentBackends(flows: readonly Omit<StaleFlows, 'keep'>[]): readonly StaleFlows[] {
    return flows.map((flow) => {
      const holder = this.holder(claimKey(flow, flow))
      return { ...flow, keep: new Set(activeBackends(holder).keys()) }
    })
  }

  /** The Services whose ClusterIP this is; empty if it belongs to no Service. */
  ownersOf(ip: IpAddress): readonly ServiceKey[] {
    return this.#claims.ownersOf(ip)
  }

  /** Whether an entry got the frontends that it requested; undefined if the entry does not exist. */
  statusOf(id: EntryId): EntryStatus | undefined {
    if (!this.#wanted.has(id)) return undefined
    const problems = this.#problems.get(id)
    if (problems === undefined) return 'Granted'
    return problems.some(({ status }) => status === 'Conflict') ? 'Conflict' : 'Refused'
  }

  /** Every requested frontend that was not granted, sorted by entry id. */
  problems(): readonly FrontendProblem[] {
    const ids = [...this.#problems.keys()].sort(compareText)
    return ids.flatMap((id) => this.#problems.get(id) ?? [])
  }

  /**
   * The entries, each replaced by the equal entry of the table if there is one. An entry is therefore unchanged exactly
   * if it is the same object as before.
   */
  #reuse(entries: readonly ForwardingEntry[]): readonly ForwardingEntry[] {
    return entries.map((entry) => {
      const known = this.#wanted.get(entry.id)
      return known !== undefined && isSameEntry(known, entry) ? known : entry
    })
  }

  /** Determines anew what these entries are granted, stores the result in `#published`, and returns what changed. */
  #update(ids: Iterable<EntryId>, now: number): TableDelta {
    const upserts: ForwardingEntry[] = []
    const removals: EntryId[] = []
    const transitions: Transition[] = []
    for (const id of ids) {
      const before = this.#published.get(id)
      const after = this.#grant(id, before, now)
      transitions.push({ before, after })
      if (after !== undefined) {
        this.#published.set(id, after)
        if (after !== before) upserts.push(after)
      } else if (this.#published.delete(id)) removals.push(id)
    }
    const staleFlows = this.withPresentBackends(staleFlowsOf(transitions))
    return { upserts, removals, staleFlows }
  }

  /**
   * The entry with the frontends that are granted to it now, and its draining backends. `before` itself is returned if
   * it is equal; undefined if the entry has no frontend. Also sets the problems and the deadline of the entry.
   */
  #grant(
    id: EntryId,
    before: ForwardingEntry | undefined,
    now: number,
  ): ForwardingEntry | undefined {
    const wanted = this.#wanted.get(id)
    const problems = wanted === undefined ? [] : problemsOf(wanted, this.#claims)
    if (problems.length > 0) this.#problems.set(id, problems)
    else this.#problems.delete(id)
    const granted = wanted && this.#withGrantedFrontends(wanted)
    const seconds = wanted === undefined ? 0 : this.#drainSeconds[wanted.protocol]
    const draining = granted && drainingAfter(before, granted, { now, seconds })
    this.#setDeadline(id, draining ?? [])
    if (granted === undefined || draining === undefined) return undefined
    const after = draining.length === 0 ? granted : { ...granted, draining }
    return before !== undefined && isSameForwarding(before, after) ? before : after
  }

  /** The entry with only those frontends that it is granted; undefined if it is granted none. */
  #withGrantedFrontends(wanted: ForwardingEntry): ForwardingEntry | undefined {
    const { frontends } = wanted
    const granted = frontends.filter(
      (frontend) => this.#claims.denial(wanted, frontend) === undefined,
    )
    if (granted.length === 0) return undefined
    return granted.length === frontends.length ? wanted : { ...wanted, frontends: granted }
  }

  #setDeadline(id: EntryId, draining: readonly DrainingBackend[]): void {
    if (draining.length === 0) this.#deadlines.delete(id)
    else this.#deadlines.set(id, Math.min(...draining.map(({ until }) => until)))
  }
}

/** The claims of a Service: its entries, and its ClusterIPs from `clusterIPs` and from the frontends. */
function claimsOf(
  entries: readonly ForwardingEntry[],
  clusterIPs: readonly IpAddress[],
): ServiceClaims {
  const all = new Set(clusterIPs)
  for (const { frontends } of entries) {
    for (const { kind, ip } of frontends) {
      if (kind === 'clusterIP' && ip !== 'node') all.add(ip)
    }
  }
  return { entries, clusterIPs: [...all].sort(compareText) }
}

function areSameClaims(a: ServiceClaims, b: ServiceClaims): boolean {
  return areSame(a.entries, b.entries, Object.is) && areSame(a.clusterIPs, b.clusterIPs, Object.is)
}

function isEmpty({ entries, clusterIPs }: ServiceClaims): boolean {
  return entries.length === 0 && clusterIPs.length === 0
}

/** The list if no backend drains. All entries share it, so it is frozen. */
const NO_DRAINING: readonly DrainingBackend[] = Object.freeze([])

/** The present time, and the time for which a backend drains. */
interface DrainTimes {
  readonly now: number
  /** How long a backend that is removed now keeps its connections; 0: none drains, not even one that already did. */
  readonly seconds: number
}

/**
 * The draining backends of an entry that changes from `before` to `after`, sorted. A backend that is no longer in the
 * pools of `after` drains for `seconds` from now. A backend that was already draining continues until its deadline,
 * unless it is in these pools again. If `seconds` is 0, none drains.
 */
function drainingAfter(
  before: ForwardingEntry | undefined,
  after: ForwardingEntry,
  { now, seconds }: DrainTimes,
): readonly DrainingBackend[] {
  if (before === undefined || seconds === 0) return NO_DRAINING
  if (before.pools === after.pools && before.draining.length === 0) return NO_DRAINING
  const active = activeBackends(after)
  const draining = before.draining.filter(
    ({ ip, port, until }) => until > now && !active.has(hostPort(ip, port)),
  )
  if (before.pools !== after.pools) {
    for (const [key, backend] of activeBackends(before)) {
      if (!active.has(key)) draining.push({ ...backend, until: now + seconds * 1000 })
    }
  }
  return draining.length === 0 ? NO_DRAINING : draining.sort(compareBackends)
}

/** One entry of the table before and after a change; undefined where the table does not have it. */
interface Transition {
  readonly before: ForwardingEntry | undefined
  readonly after: ForwardingEntry | undefined
}

/** The entries that hold a frontend before and after the change; undefined if none does. */
interface Holders {
  readonly frontend: Frontend
  before: ForwardingEntry | undefined
  after: ForwardingEntry | undefined
}

/**
 * The flows that a change makes stale. The kernel keeps the conntrack entry of a UDP or SCTP flow as long as packets of
 * the flow arrive, and that of a TCP connection without an answer for two minutes, also for a later connection from
 * the same port. That entry translates to the old backend; or to none, if the flow began before there was a backend. The
 * caller passes all transitions of one change together. So if a frontend moves from one entry to another, its flows to
 * backends of the new holder are kept.
 */
function staleFlowsOf(transitions: readonly Transition[]): readonly Omit<StaleFlows, 'keep'>[] {
  const changed = transitions.filter(({ before, after }) => before !== after)
  if (changed.length === 0) return []
  const stale: Omit<StaleFlows, 'keep'>[] = []
  for (const { frontend, before, after } of holdersOf(changed).values()) {
    const entry = after ?? before
    if (entry === undefined || !isStale(before, after)) continue
    const { family, protocol } = entry
    stale.push({ family, protocol, ip: frontend.ip, port: frontend.port })
  }
  return stale
}

/** The holders of each frontend of the transitions. */
function holdersOf(transitions: readonly Transition[]): ReadonlyMap<ClaimKey, Holders> {
  const holders = new Map<ClaimKey, Holders>()
  const holdersAt = (entry: ForwardingEntry, frontend: Frontend): Holders => {
    const key = claimKey(entry, frontend)
    const found = holders.get(key) ?? { frontend, before: undefined, after: undefined }
    holders.set(key, found)
    return found
  }
  for (const { before, after } of transitions) {
    for (const frontend of before?.frontends ?? []) holdersAt(before!, frontend).before = before
    for (const frontend of after?.frontends ?? []) holdersAt(after!, frontend).after = after
  }
  return holders
}

/**
 * Whether flows of a frontend are stale: it has no holder any more, has lost a backend, or has got its first backends.
 * Before those, a TCP connection was refused, which leaves no entry.
 */
function isStale(before: ForwardingEntry | undefined, after: ForwardingEntry | undefined): boolean {
  const old = activeBackends(before)
  if (old.size === 0 && (before ?? after)?.protocol === 'TCP') return false
  if (after === undefined) return true
  const current = activeBackends(after)
  if (old.size === 0) return current.size > 0
  return old.keys().some((key) => !current.has(key))
}

/** The backends of both pools of an entry, each once, by `ip:port` (IPv6 in brackets); empty if there is no entry. */
export function activeBackends(entry: ForwardingEntry | undefined): ReadonlyMap<string, Backend> {
  const active = new Map<string, Backend>()
  if (entry === undefined) return active
  for (const backend of entry.pools.cluster) active.set(hostPort(backend.ip, backend.port), backend)
  for (const backend of entry.pools.local) active.set(hostPort(backend.ip, backend.port), backend)
  return active
}
