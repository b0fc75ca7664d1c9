import type { IpAddress } from '../lib/ip.ts'
import { checkTiming, type ElectionTiming } from './election-timing.ts'

/** What a Lease says. */
export interface LeaseRecord {
  /** The node that holds it; empty if none does. */
  readonly holder: string
  /** Grows with each renewal: microseconds, which people read as the time of the holder's clock. 0: never held. */
  readonly renewal: number
  /** `leaseDuration` of the holder, in milliseconds. */
  readonly duration: number
  /** The preferred node that requests the Lease from its holder; empty if none does. */
  readonly requestedBy: string
  /** The node that released the Lease before its holder took it; empty if the holder before was lost. */
  readonly releasedBy: string
}

/** A Lease as the API server has it. */
export interface SeenLease extends LeaseRecord {
  /** A write succeeds only if the Lease still has the version that was seen. */
  readonly version: string
}

/** Why a Lease is written. */
export type WriteReason = 'create' | 'acquire' | 'renew' | 'request' | 'release'

/** A write to start now, only if the Lease still has this version. */
export interface LeaseWrite {
  readonly ip: IpAddress
  readonly reason: WriteReason
  /** Undefined: the Lease must not exist, and is created. */
  readonly version: string | undefined
  /**
   * To acquire, renew and release, `renewal` is the least that may be written: the writer's clock if that is more. To
   * create and to request, it is written as it is.
   */
  readonly record: LeaseRecord
}

/**
 * How a write ended. `failed`: it was refused, or its result is not known. After `conflict` the caller reads the Lease, and
 * reports it by `observe` before it reports the end.
 */
export type WriteEnd =
  | { readonly kind: 'written'; readonly lease: SeenLease }
  | { readonly kind: 'conflict' | 'failed' }

/** What a node must do now. */
export interface ElectionStep {
  readonly writes: readonly LeaseWrite[]
  /** The addresses to answer for, each until when; the same object as before if nothing is different. */
  readonly answers: ReadonlyMap<IpAddress, number>
  /** When the next step is due at the latest. */
  readonly nextAt: number
}

const NEVER = Number.POSITIVE_INFINITY
const LONG_AGO = Number.NEGATIVE_INFINITY

/** What this node knows of one address. */
interface AddressState {
  readonly ip: IpAddress
  /** The nodes that may announce it, in their order. */
  nodes: readonly string[]
  /** Undefined: not read yet; `absent`: there is none. */
  lease: SeenLease | 'absent' | undefined
  /** When this holder and renewal, or the absence, was first seen. */
  seenAt: number
  /** Since when this node, which may announce the address, is preferred to the holder. */
  preferredSince: number
  /** The write under way. */
  writing: { readonly reason: WriteReason; readonly startedAt: number } | undefined
  retryAt: number
  renewAt: number
  /** Until when this node may answer: it holds the Lease, and nothing that ends this was begun. */
  validUntil: number
  /** Until when the responder may answer by what was handed to it. */
  answeredUntil: number
  /** Whether the Lease is being given up: until another record is seen. */
  isYielding: boolean
}

/**
 * The election of one node, for all addresses: a state machine without input and output. Times are milliseconds of this
 * node's monotonic clock; clocks of nodes need not agree, but run at nearly the same speed.
 *
 * At most one node answers for an address:
 *
 * - Each write succeeds only if the Lease is as it was seen. A node answers only after it wrote itself as the holder, and
 *   only until `renewDeadline` after the start of its last successful write.
 * - Another node takes the Lease over no earlier than `leaseDuration`, which is longer, after it first saw the last
 *   renewal, which is later than its start.
 * - A Lease that does not exist may have been deleted while its holder answers. So it is created without a holder, and
 *   counts as renewed then. Absence itself proves nothing: there may have been a Lease meanwhile.
 * - A holder releases the Lease only after its responder stopped, and does not answer again without another write.
 */
export class Election {
  readonly #node: string
  readonly #timing: ElectionTiming
  readonly #addresses = new Map<IpAddress, AddressState>()
  #answers: ReadonlyMap<IpAddress, number> = new Map()
  #isDraining = false

  /** Throws RangeError for durations that do not guarantee what is promised. */
  constructor(node: string, timing: ElectionTiming) {
    checkTiming(timing)
    this.#node = node
    this.#timing = timing
  }

  /** Replaces the addresses, each with the nodes that may announce it in their order. */
  plan(plans: ReadonlyMap<IpAddress, readonly string[]>): void {
    for (const state of this.#addresses.values()) state.nodes = plans.get(state.ip) ?? []
    for (const [ip, nodes] of plans) if (nodes.includes(this.#node)) this.#state(ip).nodes = nodes
  }

  /**
   * Takes a Lease as a watch reports it, unless a later one is known; undefined: it was deleted. What a watch reports
   * after the answer to a write is often older than this answer.
   */
  watched(ip: IpAddress, lease: SeenLease | undefined, now: number): void {
    const known = this.#state(ip).lease
    const isOld =
      lease !== undefined &&
      known !== undefined &&
      known !== 'absent' &&
      BigInt(lease.version) < BigInt(known.version)
    if (!isOld) this.observe(ip, lease, now)
  }

  /** Takes a Lease from a list or a read, even if its version is smaller (a restored store); undefined: there is none. */
  observe(ip: IpAddress, lease: SeenLease | undefined, now: number): void {
    const state = this.#state(ip)
    const before = state.lease
    const after = lease ?? 'absent'
    if (!isSameRenewal(before, after)) state.seenAt = now
    state.lease = after
    if (after === 'absent' || after.holder !== this.#node) {
      state.validUntil = LONG_AGO
      state.isYielding = false
    }
  }

  /** Takes the end of a write. */
  finish(ip: IpAddress, end: WriteEnd, now: number): void {
    const state = this.#state(ip)
    const { writing } = state
    state.writing = undefined
    if (writing === undefined) return
    if (end.kind !== 'written') {
      // After a conflict the Lease was read, so the next write is based on what is there now.
      const isFailed = end.kind === 'failed'
      state.retryAt = isFailed ? writing.startedAt + this.#timing.retryInterval : now
      return
    }
    // The watch may have reported a later version before the answer came.
    this.watched(ip, end.lease, now)
    const isRenewed = writing.reason === 'acquire' || writing.reason === 'renew'
    if (!isRenewed || holderOf(state.lease) !== this.#node) return
    state.validUntil = writing.startedAt + this.#timing.renewDeadline
    state.renewAt = writing.startedAt + this.#timing.renewInterval
  }

  /**
   * Records that the responder now answers for the addresses of a step and for no others. It has no effect if a later
   * step has others.
   */
  applied(answers: ReadonlyMap<IpAddress, number>): void {
    if (answers !== this.#answers) return
    for (const state of this.#addresses.values()) {
      state.answeredUntil = answers.get(state.ip) ?? LONG_AGO
    }
  }

  /** Gives up all addresses, and takes none any more. */
  drain(): void {
    this.#isDraining = true
  }

  /** Drops what is known of an address; false if its Lease is held, or a write is under way. */
  forget(ip: IpAddress): boolean {
    const state = this.#addresses.get(ip)
    if (state?.writing !== undefined || holderOf(state?.lease) === this.#node) return false
    this.#addresses.delete(ip)
    return true
  }

  /** Whether no Lease is held and no write is under way. */
  get isIdle(): boolean {
    return [...this.#addresses.values()].every(
      ({ lease, writing }) => writing === undefined && holderOf(lease) !== this.#node,
    )
  }

  /** The node that holds the Lease of an address as it was last seen; undefined if none does. */
  holder(ip: IpAddress): string | undefined {
    return holderOf(this.#addresses.get(ip)?.lease) || undefined
  }

  /**
   * The node that released an address which this node holds now: it knows the connections that were under way. Undefined
   * if the node before was lost, or is not known.
   */
  releasedBy(ip: IpAddress): string | undefined {
    const lease = this.#addresses.get(ip)?.lease
    if (lease === undefined || lease === 'absent' || lease.holder !== this.#node) return undefined
    return lease.releasedBy === this.#node ? undefined : lease.releasedBy || undefined
  }

  /** What to do now. The writes count as started. */
  step(now: number): ElectionStep {
    const writes: LeaseWrite[] = []
    const answers = new Map<IpAddress, number>()
    let nextAt = NEVER
    for (const state of this.#addresses.values()) {
      const next = this.#decide(state, now)
      if (next.write !== undefined) {
        state.writing = { reason: next.write.reason, startedAt: now }
        writes.push(next.write)
      }
      const isAnswering = !state.isYielding && state.validUntil > now
      if (isAnswering) answers.set(state.ip, state.validUntil)
      if (isAnswering) state.answeredUntil = Math.max(state.answeredUntil, state.validUntil)
      nextAt = Math.min(nextAt, next.at ?? NEVER, isAnswering ? state.validUntil : NEVER)
    }
    if (!isEqualAnswers(answers, this.#answers)) this.#answers = answers
    return { writes, answers: this.#answers, nextAt }
  }

  #state(ip: IpAddress): AddressState {
    const known = this.#addresses.get(ip)
    if (known !== undefined) return known
    const state: AddressState = {
      ip,
      nodes: [],
      lease: undefined,
      seenAt: LONG_AGO,
      preferredSince: NEVER,
      writing: undefined,
      retryAt: LONG_AGO,
      renewAt: LONG_AGO,
      validUntil: LONG_AGO,
      answeredUntil: LONG_AGO,
      isYielding: false,
    }
    this.#addresses.set(ip, state)
    return state
  }

  #decide(state: AddressState, now: number): Decision {
    const { lease } = state
    if (lease === undefined) return {}
    const rank = this.#isDraining ? -1 : state.nodes.indexOf(this.#node)
    const isHolder = holderOf(lease) === this.#node
    if (isHolder || rank < 0) state.preferredSince = NEVER
    if (isHolder) return this.#asHolder(state, rank, now)
    return rank < 0 || state.writing !== undefined ? {} : this.#asOther(state, rank, now)
  }

  #asHolder(state: AddressState, rank: number, now: number): Decision {
    const lease = state.lease as SeenLease
    const requester = state.nodes.indexOf(lease.requestedBy)
    if (rank < 0 || (requester >= 0 && requester < rank)) state.isYielding = true
    if (state.writing !== undefined) return {}
    if (!state.isYielding) {
      return this.#at(Math.max(state.renewAt, state.retryAt), now, () => {
        return this.#write(state, 'renew', { holder: this.#node, requestedBy: lease.requestedBy })
      })
    }
    // A responder that does not report that it stopped stops by itself at this time.
    return this.#at(Math.max(state.answeredUntil, state.retryAt), now, () => {
      state.validUntil = LONG_AGO
      return this.#write(state, 'release', { holder: '', requestedBy: lease.requestedBy })
    })
  }

  #asOther(state: AddressState, rank: number, now: number): Decision {
    const lease = state.lease as SeenLease | 'absent'
    if (lease === 'absent') {
      const createAt = Math.max(state.seenAt + rank * this.#timing.rankDelay, state.retryAt)
      const free = { holder: '', requestedBy: '' }
      return this.#at(createAt, now, () => this.#write(state, 'create', free))
    }
    const takeAt = Math.max(this.#freeAt(state, rank, lease), state.retryAt)
    if (takeAt <= now) {
      return { write: this.#write(state, 'acquire', { holder: this.#node, requestedBy: '' }) }
    }
    const holder = holderOf(lease)
    const holderRank = state.nodes.indexOf(holder)
    const isPreferred = holder !== '' && (holderRank < 0 || rank < holderRank)
    if (!isPreferred) state.preferredSince = NEVER
    else if (state.preferredSince === NEVER) state.preferredSince = now
    if (!isPreferred || this.#isRequested(state, rank, lease)) {
      return { at: takeAt }
    }
    const requestAt = Math.max(state.preferredSince + this.#timing.settleDelay, state.retryAt)
    if (requestAt > now) return { at: Math.min(takeAt, requestAt) }
    return { write: this.#write(state, 'request', { holder, requestedBy: this.#node }) }
  }

  /** When this node may take a Lease that another node holds, or none does. */
  #freeAt({ seenAt, nodes }: AddressState, rank: number, lease: SeenLease): number {
    const { leaseDuration, rankDelay } = this.#timing
    const wait = Math.max(lease.duration, leaseDuration)
    if (lease.holder === '') {
      const delay = lease.requestedBy === this.#node ? 0 : rank * rankDelay
      return seenAt + delay + (lease.renewal === 0 ? wait : 0)
    }
    const holderRank = nodes.indexOf(lease.holder)
    const turn = holderRank >= 0 && holderRank < rank ? rank - 1 : rank
    return seenAt + wait + turn * rankDelay
  }

  /** Whether this node, or one that is preferred to it, has requested the Lease. */
  #isRequested({ nodes }: AddressState, rank: number, { requestedBy }: SeenLease): boolean {
    const requester = nodes.indexOf(requestedBy)
    return requester >= 0 && requester <= rank
  }

  #at(at: number, now: number, write: () => LeaseWrite): Decision {
    return at <= now ? { write: write() } : { at }
  }

  #write(
    { ip, lease }: AddressState,
    reason: WriteReason,
    change: Pick<LeaseRecord, 'holder' | 'requestedBy'>,
  ): LeaseWrite {
    const seen = lease === 'absent' ? undefined : lease
    const isRenewal = reason !== 'create' && reason !== 'request'
    const record = {
      ...change,
      releasedBy: releasedBy(reason, seen, this.#node),
      renewal: (seen?.renewal ?? 0) + (isRenewal ? 1 : 0),
      duration: reason === 'request' ? seen!.duration : this.#timing.leaseDuration,
    }
    return { ip, reason, version: seen?.version, record }
  }
}

function releasedBy(reason: WriteReason, seen: SeenLease | undefined, node: string): string {
  if (reason === 'release') return node
  const isLost = reason === 'acquire' && seen?.holder !== ''
  return isLost || seen === undefined ? '' : seen.releasedBy
}

interface Decision {
  readonly write?: LeaseWrite
  /** When the decision may be another one, if nothing is seen before. */
  readonly at?: number
}

function isEqualAnswers(
  a: ReadonlyMap<IpAddress, number>,
  b: ReadonlyMap<IpAddress, number>,
): boolean {
  return a.size === b.size && [...a].every(([ip, until]) => b.get(ip) === until)
}

function holderOf(lease: SeenLease | 'absent' | undefined): string {
  return lease === undefined || lease === 'absent' ? '' : lease.holder
}

function isSameRenewal(
  before: SeenLease | 'absent' | undefined,
  after: SeenLease | 'absent',
): boolean {
  if (before === undefined || before === 'absent' || after === 'absent') return before === after
  return before.holder === after.holder && before.renewal === after.renewal
}
