import {
  ANNOUNCER_SELECTOR,
  type Announcer,
  announcerName,
  announcerObject,
  readAnnouncer,
  type SeenAnnouncer,
} from '../../announcement/announcer-object.ts'
import type { Reflector } from '../../client/reflector/reflector.ts'
import type { Clock } from '../../lib/clock.ts'
import { isDeepEqual } from '../../lib/equal.ts'
import type { IpAddress } from '../../lib/ip.ts'
import type { LeaseClient } from './lease-client.ts'

/** Seconds between two renewals of a node; they grow with the cluster, so that it has at most ten renewals a second. */
const RENEW_SECONDS = { least: 10, perNode: 0.1 }
/** So many renewals may fail before a node counts as lost. */
const RENEWALS = 4
const REQUEST_MS = 2_000
/** Milliseconds until a publication that failed is tried again. */
const RETRY_MS = 1_000
/** How long the addresses of a node that withdrew are known: until a node-proxy that is replaced is there again. */
const LEFT_MS = 30_000

/** What a node publishes of itself; the rest follows from the other nodes. */
export type OwnState = Omit<Announcer, 'name' | 'seconds'>

/** What `AnnouncerNodes` uses. */
export interface AnnouncerNodesParts {
  readonly leases: Pick<LeaseClient, 'create' | 'follow' | 'patch' | 'remove'>
  readonly clock: Clock
  /** Milliseconds of the monotonic clock. */
  readonly monotonic: () => number
  readonly nodeName: string
  readonly own: () => OwnState
  /** Called when the nodes are known, and when they changed. */
  readonly onChange: () => void
}

interface Seen {
  readonly announcer: SeenAnnouncer
  /** When this renewal was first seen. */
  readonly at: number
}

/**
 * The nodes that announce addresses: each renews a Lease with what it publishes of itself. They decide in which order
 * nodes take an address. Which one announces it is decided by the Lease of the address, so an outdated list costs only time.
 */
export class AnnouncerNodes {
  readonly #parts: AnnouncerNodesParts
  readonly #reflector: Reflector
  readonly #stop = new AbortController()
  readonly #seen = new Map<string, Seen>()
  /** The nodes that withdrew a short time ago. */
  readonly #left = new Map<string, Seen>()
  #watching: Promise<unknown> | undefined
  #isListed = false
  #connectedAt = 0
  #published: OwnState | undefined
  #isWithdrawn = false
  #isWriting = false
  #publishing: Promise<void> = Promise.resolve()
  #cancelRenewal = (): void => undefined
  #cancelExpiry = (): void => undefined
  /** Resolves when this node's Lease was seen to be gone. */
  readonly #gone = Promise.withResolvers<void>()

  constructor(parts: AnnouncerNodesParts) {
    this.#parts = parts
    this.#reflector = parts.leases.follow<SeenAnnouncer>({
      selector: ANNOUNCER_SELECTOR,
      decode: readAnnouncer,
      onChanges: (changes) => {
        const isChanged = changes.map(({ key, value }) =>
          this.#take(key.slice(key.indexOf('/') + 1), value),
        )
        if (this.#isListed && isChanged.includes(true)) this.#changed()
      },
      onListed: () => {
        this.#isListed = true
        this.#connectedAt = parts.monotonic()
        this.#changed()
      },
    })
  }

  /** Whether the nodes were listed once. */
  get isListed(): boolean {
    return this.#isListed
  }

  start(): void {
    this.#watching = this.#reflector.run(this.#stop.signal)
    this.publish()
  }

  /** Publishes what this node is now, if that differs from what was published; a write under way is followed by another. */
  publish(): void {
    if (!this.#isWriting && !isDeepEqual(this.#published, this.#parts.own())) this.#renew()
  }

  /** All announcers that are not lost, this node included: as it is now, and not as it was published. */
  nodes(): readonly Announcer[] {
    const { nodeName, own } = this.#parts
    const others = [...this.#seen.values()].filter((one) => !this.#isLost(one))
    return [
      { ...own(), name: nodeName, seconds: this.#seconds },
      ...others.flatMap(({ announcer }) => (announcer.name === nodeName ? [] : [announcer])),
    ]
  }

  /** The addresses of a node that is not lost, or withdrew within the last half minute; otherwise none. */
  addressesOf(nodeName: string): readonly IpAddress[] {
    const name = announcerName(nodeName)
    const seen = this.#seen.get(name)
    if (seen !== undefined) return this.#isLost(seen) ? [] : seen.announcer.addresses
    const left = this.#left.get(name)
    const isRecent = left !== undefined && left.at + LEFT_MS > this.#parts.monotonic()
    return isRecent ? left.announcer.addresses : []
  }

  /** Withdraws this node: resolves when the others can have seen it, at the latest after two seconds. */
  async withdraw(): Promise<void> {
    this.#endRenewal()
    await this.#publishing
    const { leases, nodeName, clock } = this.#parts
    if (this.#published === undefined) return
    const { ok } = await leases.remove(announcerName(nodeName), undefined, REQUEST_MS)
    if (!ok || !this.#seen.has(announcerName(nodeName))) return
    const cancel = clock.after(REQUEST_MS, () => this.#gone.resolve())
    await this.#gone.promise
    cancel()
  }

  /** Ends the watch and the renewals; the Lease stays, unless it was withdrawn. */
  async close(): Promise<void> {
    this.#endRenewal()
    this.#cancelExpiry()
    this.#stop.abort()
    await this.#publishing
    await this.#watching
  }

  get #seconds(): number {
    const { least, perNode } = RENEW_SECONDS
    return RENEWALS * Math.max(least, this.#seen.size * perNode)
  }

  /** @returns whether more changed than a renewal of an announcer that is not lost */
  #take(name: string, announcer: SeenAnnouncer | undefined): boolean {
    const before = this.#seen.get(name)
    if (announcer === undefined) {
      this.#seen.delete(name)
      this.#remember(name, before)
      if (name === announcerName(this.#parts.nodeName)) this.#gone.resolve()
      return before !== undefined
    }
    const isRenewal = before?.announcer.renewal !== announcer.renewal
    const wasLost = before === undefined || this.#isLost(before)
    this.#seen.set(name, { announcer, at: isRenewal ? this.#parts.monotonic() : before.at })
    return (
      wasLost || !isDeepEqual({ ...before.announcer, renewal: '' }, { ...announcer, renewal: '' })
    )
  }

  #remember(name: string, gone: Seen | undefined): void {
    const now = this.#parts.monotonic()
    for (const [other, { at }] of this.#left) if (at + LEFT_MS <= now) this.#left.delete(other)
    if (gone !== undefined) this.#left.set(name, { ...gone, at: now })
  }

  #isLost(one: Seen): boolean {
    // Renewals are not seen without a watch.
    return this.#reflector.state().connected && this.#lostAt(one) <= this.#parts.monotonic()
  }

  #lostAt({ announcer, at }: Seen): number {
    return Math.max(at, this.#connectedAt) + announcer.seconds * 1_000
  }

  #changed(): void {
    const { clock, monotonic, onChange } = this.#parts
    this.#cancelExpiry()
    const now = monotonic()
    const next = Math.min(
      ...[...this.#seen.values()].map((one) => this.#lostAt(one)).filter((at) => at > now),
    )
    if (Number.isFinite(next))
      this.#cancelExpiry = clock.after(next - now + 1, () => this.#changed())
    onChange()
  }

  #renew(): void {
    this.#cancelRenewal()
    this.#publishing = this.#write()
  }

  async #write(): Promise<void> {
    const { leases, clock, nodeName, own } = this.#parts
    if (this.#isWithdrawn) return
    this.#isWriting = true
    const state = own()
    const object = announcerObject(
      { ...state, name: nodeName, seconds: this.#seconds },
      clock.now(),
    )
    const patched = await leases.patch(announcerName(nodeName), object, REQUEST_MS)
    const isAbsent = !patched.ok && patched.failure.code === 404
    const { ok } = isAbsent ? await leases.create(object, REQUEST_MS) : patched
    this.#isWriting = false
    if (ok) this.#published = state
    if (this.#isWithdrawn) return
    const renewMs = (this.#seconds / RENEWALS) * 1_000
    this.#cancelRenewal = clock.after(ok ? renewMs : RETRY_MS, () => this.#renew())
    if (ok) this.publish()
  }

  #endRenewal(): void {
    this.#isWithdrawn = true
    this.#cancelRenewal()
  }
}
