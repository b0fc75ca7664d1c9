import { Election, type LeaseWrite } from '../../announcement/election.ts'
import type { ElectionTiming } from '../../announcement/election-timing.ts'
import { acquiredAt, leaseName, leaseObject, readLease } from '../../announcement/lease-object.ts'
import type { Clock } from '../../lib/clock.ts'
import type { IpAddress } from '../../lib/ip.ts'
import { isOvertaken, type LeaseClient } from './lease-client.ts'
import { type LeaseChanges, LeaseWatches } from './lease-watches.ts'
import type { LinkResponders } from './link-responders.ts'

/** The longest that a drain takes, in milliseconds. */
const DRAIN_MS = 3_000
/** The longest that `onAnswers` may delay the first answer for an address, in milliseconds. */
const PREPARE_MS = 500

/** How a write of a Lease ended, for counters. */
export type LeaseWriteOutcome = 'written' | 'overtaken' | 'failed'

/** What `ElectionRunner` uses. */
export interface ElectionRunnerParts {
  readonly leases: Pick<LeaseClient, 'create' | 'follow' | 'get' | 'patch' | 'remove'>
  readonly links: Pick<LinkResponders, 'announce'>
  readonly timing: ElectionTiming
  readonly clock: Clock
  /** Milliseconds of the monotonic clock, which the responders compare with. */
  readonly monotonic: () => number
  readonly nodeName: string
  readonly onWrite: (reason: LeaseWrite['reason'], outcome: LeaseWriteOutcome) => void
  /**
   * Called before this node answers for the addresses `begun`, and when it stops for those `ended`. Answers for `begun`
   * start when the promise resolves, or after `PREPARE_MS`.
   */
  readonly onAnswers: (begun: readonly IpAddress[], ended: readonly IpAddress[]) => Promise<void>
}

/** Runs the election of this node: reads and writes its Leases, and passes what it may answer for to the responders. */
export class ElectionRunner {
  readonly #parts: ElectionRunnerParts
  readonly #election: Election
  readonly #watches: LeaseWatches
  readonly #acquiredAt = new Map<IpAddress, number>()
  readonly #followed = new Set<IpAddress>()
  /** Those that this node does not contend for any more, and perhaps still holds. */
  #leaving = new Set<IpAddress>()
  #plans: ReadonlyMap<IpAddress, readonly string[]> = new Map()
  #answers: ReadonlyMap<IpAddress, number> = new Map()
  /** Addresses among `#answers` that are not answered yet, each with what this waits for. */
  readonly #preparing = new Map<IpAddress, Promise<void>>()
  #cancelStep = (): void => undefined
  #onIdle = (): void => undefined
  #isClosed = false

  constructor(parts: ElectionRunnerParts) {
    this.#parts = parts
    this.#election = new Election(parts.nodeName, parts.timing)
    this.#watches = new LeaseWatches(parts.leases, {
      onLeases: (changes) => this.#watched(changes),
      onListed: (leases) => this.#listed(leases),
    })
  }

  /** The addresses that this node answers for now. */
  get answering(): readonly IpAddress[] {
    return [...this.#answers.keys()]
  }

  /**
   * Who holds the Lease of an address, and since when in milliseconds since the epoch, 0 if that is not known. Undefined:
   * no node, or this node does not contend for it and does not know.
   */
  holder(ip: IpAddress): { readonly node: string; readonly since: number } | undefined {
    const node = this.#election.holder(ip)
    return node === undefined ? undefined : { node, since: this.#acquiredAt.get(ip) ?? 0 }
  }

  /** The node that released an address which this node holds; undefined: the node before was lost, or is not known. */
  releasedBy(ip: IpAddress): string | undefined {
    return this.#election.releasedBy(ip)
  }

  /** Replaces the addresses that must be announced, each with the nodes that may announce it in their order. */
  plan(plans: ReadonlyMap<IpAddress, readonly string[]>): void {
    this.#plans = plans
    this.#election.plan(plans)
    const { nodeName } = this.#parts
    const contended = new Set(plans.keys().filter((ip) => plans.get(ip)?.includes(nodeName)))
    this.#leaving = this.#followed.difference(contended)
    const before = this.#followed.size
    for (const ip of contended) this.#followed.add(ip)
    this.#step(this.#followed.size > before)
  }

  /** Stops answering, releases all Leases, and takes none any more. Resolves when none is held, or after three seconds. */
  async drain(): Promise<void> {
    const idle = Promise.withResolvers<void>()
    this.#onIdle = () => idle.resolve()
    this.#election.drain()
    this.#step()
    const cancel = this.#parts.clock.after(DRAIN_MS, () => idle.resolve())
    await idle.promise
    cancel()
  }

  /** Ends the watches and answers for nothing any more. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelStep()
    await Promise.all([this.#parts.links.announce(new Map()), this.#watches.close()])
  }

  #watched(changes: LeaseChanges): void {
    const now = this.#parts.monotonic()
    for (const [ip, watched] of changes) {
      if (watched) this.#acquiredAt.set(ip, watched.acquiredAt)
      this.#election.watched(ip, watched?.lease, now)
    }
    this.#step()
  }

  #listed(leases: LeaseChanges): void {
    const now = this.#parts.monotonic()
    for (const [ip, watched] of leases) this.#election.observe(ip, watched?.lease, now)
    this.#step()
  }

  #step(hasNewAddresses = false): void {
    if (this.#isClosed) return
    const { clock, monotonic } = this.#parts
    this.#follow(hasNewAddresses)
    const now = monotonic()
    const { writes, answers, nextAt } = this.#election.step(now)
    if (answers !== this.#answers) this.#apply(answers)
    for (const write of writes) void this.#write(write)
    this.#cancelStep()
    if (Number.isFinite(nextAt)) {
      this.#cancelStep = clock.after(Math.max(nextAt - now, 0), () => this.#step())
    }
    if (this.#election.isIdle) this.#onIdle()
  }

  /** Follows the Leases of the addresses that this node contends for or holds, and forgets the others. */
  #follow(hasNewAddresses: boolean): void {
    let isChanged = hasNewAddresses
    for (const ip of this.#leaving) {
      if (!this.#election.forget(ip)) continue
      this.#leaving.delete(ip)
      this.#followed.delete(ip)
      this.#acquiredAt.delete(ip)
      isChanged = true
    }
    if (isChanged) this.#watches.follow(this.#followed)
  }

  #apply(answers: ReadonlyMap<IpAddress, number>): void {
    const before = this.#answers
    this.#answers = answers
    const begun = [...answers.keys()].filter((ip) => !before.has(ip))
    const ended = [...before.keys()].filter((ip) => !answers.has(ip))
    for (const ip of ended) this.#preparing.delete(ip)
    if (begun.length + ended.length > 0) {
      const prepared = this.#parts.onAnswers(begun, ended)
      for (const ip of begun) this.#preparing.set(ip, prepared)
      if (begun.length > 0) void this.#prepare(begun, prepared)
    }
    void this.#announce()
  }

  async #prepare(begun: readonly IpAddress[], prepared: Promise<void>): Promise<void> {
    const { promise: late, resolve } = Promise.withResolvers<void>()
    const cancel = this.#parts.clock.after(PREPARE_MS, resolve)
    await Promise.race([prepared, late])
    cancel()
    // Others ended meanwhile, and perhaps began again.
    const ready = begun.filter((ip) => this.#preparing.get(ip) === prepared)
    for (const ip of ready) this.#preparing.delete(ip)
    if (ready.length > 0 && !this.#isClosed) await this.#announce()
  }

  async #announce(): Promise<void> {
    const answers = this.#answers
    const prepared = [...answers].filter(([ip]) => !this.#preparing.has(ip))
    await this.#parts.links.announce(new Map(prepared))
    this.#election.applied(answers)
    this.#step()
  }

  async #write(write: LeaseWrite): Promise<void> {
    const { ip, reason } = write
    const { leases, monotonic, clock, onWrite } = this.#parts
    const object = leaseObject(write, clock.now() * 1_000)
    const verb = write.version === undefined ? 'create' : 'patch'
    const result = await (verb === 'create'
      ? leases.create(object, this.#requestMs)
      : leases.patch(leaseName(ip), object, this.#requestMs))
    const lease = result.ok ? readLease(result.value) : undefined
    if (result.ok && lease) {
      onWrite(reason, 'written')
      this.#acquiredAt.set(ip, acquiredAt(result.value) / 1_000)
      this.#election.finish(ip, { kind: 'written', lease }, monotonic())
      if (reason === 'release' && !this.#plans.has(ip)) {
        void leases.remove(leaseName(ip), lease.version, this.#requestMs)
      }
    } else if (!result.ok && isOvertaken(verb, result.failure) && (await this.#readAgain(ip))) {
      onWrite(reason, 'overtaken')
      this.#election.finish(ip, { kind: 'conflict' }, monotonic())
    } else {
      onWrite(reason, 'failed')
      this.#election.finish(ip, { kind: 'failed' }, monotonic())
    }
    this.#step()
  }

  /** Whether the Lease could be read. */
  async #readAgain(ip: IpAddress): Promise<boolean> {
    const { leases, monotonic } = this.#parts
    const read = await leases.get(leaseName(ip), this.#requestMs)
    if (!read.ok && read.failure.code !== 404) return false
    this.#election.observe(ip, read.ok ? readLease(read.value) : undefined, monotonic())
    return true
  }

  /** The timeout of a request: a holder can send two before its deadline. */
  get #requestMs(): number {
    return this.#parts.timing.retryInterval * 2
  }
}
