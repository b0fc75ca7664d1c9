import type { Conntrack, FlowEnds } from '../../kernel/conntrack/conntrack.ts'
import type { TouchedObject } from '../../kernel/nftables/object-collector.ts'
import type { RuleChange } from '../../kernel/nftables/rule-monitor.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Family, IpAddress } from '../../lib/ip.ts'
import { Throttle } from '../../lib/regularly.ts'
import type { PolicyChanges, PolicyContent } from '../policy-content.ts'
import { type Isolation, isolationOf } from './denied-packet.ts'
import { FamilyWriter, type PolicyKernel, type RefusedObject } from './family-writer.ts'
import { DIRECTIONS, type RenderSettings, tableOf } from './render.ts'

/** Where the policies come from: `PolicyModel`. */
export interface PolicySource<Event> {
  readonly content: PolicyContent
  apply(events: readonly Event[]): void
  /** What changed since the last call. */
  takeChanges(): PolicyChanges
  /** Whether the policies admit a connection that began, or ends, at a local Pod. */
  admits(flow: FlowEnds): boolean
}

/** The settings that may change while the enforcer runs. */
export interface EnforcerSettings extends RenderSettings {
  /** Whether connections that are tracked and no longer admitted are cut. */
  readonly establishedConnections: 'cut' | 'keep'
}

/** What the enforcer reports to metrics, health and log. */
export interface EnforcerObserver {
  /** A run that wrote, or had changes queued, has ended. Times are milliseconds, `at` since the epoch. */
  applied(run: {
    readonly at: number
    readonly durationMs: number
    readonly transactions: number
    /** The sets and chains that the kernel refused, by family and name. */
    readonly refused: ReadonlyMap<string, RefusedObject>
  }): void
  /** The kernel held something else than was written; these sets and chains were repaired. `by`: what reported it. */
  drifted(names: readonly string[], by: string): void
  /** Reading or writing the kernel failed as a whole; it is tried again. */
  failed(error: unknown): void
  /** `count` connections that policies no longer admit were deleted from the connection tracking. */
  flowsCut(count: number): void
  /** Deleting them failed; it is tried again. */
  flowsFailed(error: unknown): void
}

/** What an enforcer works with. */
export interface PolicyEnforcerParts<Event> extends PolicyKernel {
  readonly model: PolicySource<Event>
  readonly conntrack: Pick<Conntrack, 'cutRefused'>
  /** By which runs are scheduled: a steady one. */
  readonly clock: Clock
  /** By which runs are reported. */
  readonly wallClock: Pick<Clock, 'now'>
  readonly families: readonly Family[]
  readonly settings: EnforcerSettings
  readonly observer: EnforcerObserver
  /** Whether this is an address of the node: its connections with its own Pods are never cut. */
  isNodeAddress(ip: IpAddress): boolean
  /** Milliseconds; the shortest time between the starts of two runs. */
  readonly minPeriodMs?: number
  /** Milliseconds; the shortest time between two readings of everything. */
  readonly verifyPeriodMs?: number
}

/** The packets that a chain of one family dropped since its rules were written. */
export interface DroppedPackets extends Isolation {
  readonly family: Family
  readonly chain: string
  readonly packets: bigint
}

const MIN_PERIOD_MS = 10
/** Changes of others are reported, and so are lost reports, so reading everything back is only a second check. */
const VERIFY_MS = 3_600_000
/** Reading everything takes at most this share of the time. */
const VERIFY_SHARE = 1 / 400
/** The longest time between a report of a change by others and its repair. */
const MAX_REPAIR_DELAY_MS = 250
/** The shortest time between two readings of the tracked connections. */
const CUT_PERIOD_MS = 1_000
/** The delay after a failure. After refusals it doubles, up to the maximum. */
const RETRY_MS = 1_000
const MAX_RETRY_MS = 300_000
const NEVER = Number.POSITIVE_INFINITY

/** Why everything is read, where no other process is named as the one that changed the kernel. */
const START = 'start'
const CONFIGURED = 'configuration'
const VERIFICATION = 'verification'
const FAILURE = 'failure'

/**
 * Keeps the tables of policies in the kernel equal to the model until `stop`: writes the effect of events in one
 * transaction for each family and run, repairs what others change, and cuts connections that are no longer admitted.
 */
export class PolicyEnforcer<Event> {
  readonly #parts: PolicyEnforcerParts<Event>
  readonly #writers: readonly FamilyWriter[]
  readonly #throttle: Throttle
  readonly #cutThrottle: Throttle
  #settings: EnforcerSettings
  #isSynced = false
  #isStopped = false
  #running: Promise<void> | undefined
  #isAgain = false
  #cancelTimer: () => void = () => {}
  #timerAt = NEVER
  #stopWatching: () => void = () => {}
  /**
   * Why the next run reads everything: one of the reasons above, or the process that changed the kernel; undefined: it
   * writes changes alone.
   */
  #suspectedBy: string | undefined = START
  #verifyAt = NEVER
  #retryAt = NEVER
  #retries = 0
  /** Not applied to the model yet, so that it does not change while it is written. */
  #events: Event[] = []
  /** Whether the model holds changes that were not written. */
  #hasChanges = false
  #hasFailed = false
  /** Whether connections may be tracked that are not admitted any more. */
  #hasStaleFlows = true
  #callbacks: (() => void)[] = []

  constructor(parts: PolicyEnforcerParts<Event>) {
    this.#parts = parts
    this.#settings = parts.settings
    this.#writers = parts.families.map((family) => new FamilyWriter(family, parts))
    this.#throttle = new Throttle(parts.clock, parts.minPeriodMs ?? MIN_PERIOD_MS)
    this.#cutThrottle = new Throttle(parts.clock, CUT_PERIOD_MS)
  }

  /** Adds events. `onApplied` is called when their effect is in the kernel. */
  enqueue(events: readonly Event[], onApplied?: () => void): void {
    for (const event of events) this.#events.push(event)
    if (onApplied) this.#callbacks.push(onApplied)
    this.#wake()
  }

  /** Policies, Pods and namespaces are listed completely: from now on the kernel is written. */
  setSynced(): void {
    if (this.#isSynced || this.#isStopped) return
    this.#isSynced = true
    this.#stopWatching = this.#parts.monitor.start((change) => this.#readAll(authorOf(change)))
    this.#wake()
  }

  configure(settings: EnforcerSettings): void {
    this.#settings = settings
    this.#readAll(CONFIGURED)
  }

  /** Ends after the run in progress; the kernel keeps the rules. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancelTimer()
    this.#stopWatching()
    await this.#running
  }

  /** What the chains dropped. Throws NP_KERNEL_NETLINK if the kernel cannot be read. */
  async readDropped(): Promise<readonly DroppedPackets[]> {
    const dropped: DroppedPackets[] = []
    const { families, nftables, model } = this.#parts
    for (const family of families) {
      for (const [chain, packets] of await nftables.counters(tableOf(family))) {
        const isolation = isolationOf(chain, model.content)
        if (isolation) dropped.push({ family, chain, packets, ...isolation })
      }
    }
    return dropped
  }

  /**
   * Lets the next run read everything. The reason START or CONFIGURED is not replaced by another: what such a run changes
   * is no drift.
   */
  #readAll(by: string): void {
    if (!isOwnChange(this.#suspectedBy)) this.#suspectedBy = by
    this.#wake()
  }

  /** Schedules a run, after the one in progress if there is one. */
  #wake(): void {
    if (this.#running) this.#isAgain = true
    else this.#runAt(this.#parts.clock.now() + this.#delay())
  }

  #delay(): number {
    const delay = this.#throttle.delay()
    return this.#suspectedBy === undefined ? delay : Math.min(delay, MAX_REPAIR_DELAY_MS)
  }

  #runAt(time: number): void {
    if (this.#isStopped || !this.#isSynced || time >= this.#timerAt) return
    const { clock } = this.#parts
    this.#cancelTimer()
    this.#timerAt = time
    this.#cancelTimer = clock.after(Math.max(0, time - clock.now()), () => {
      this.#timerAt = NEVER
      this.#running = this.#run().finally(() => {
        this.#running = undefined
        this.#scheduleNext()
      })
    })
  }

  #scheduleNext(): void {
    const now = this.#parts.clock.now()
    if (this.#isAgain) this.#runAt(now + this.#delay())
    this.#isAgain = false
    const cutAt = this.#isCutDue && !this.#hasFailed ? now + this.#cutThrottle.delay() : NEVER
    const next = Math.min(this.#verifyAt, this.#retryAt, cutAt)
    if (next !== NEVER) this.#runAt(next)
  }

  get #isCutDue(): boolean {
    return this.#hasStaleFlows && this.#settings.establishedConnections === 'cut'
  }

  async #run(): Promise<void> {
    const { clock, observer } = this.#parts
    this.#throttle.started()
    const waiting = this.#callbacks.length
    try {
      if (await this.#write()) this.#throttle.ended()
      this.#hasFailed = false
      for (const onApplied of this.#callbacks.splice(0, waiting)) onApplied()
    } catch (error) {
      this.#hasFailed = true
      this.#suspectedBy ??= FAILURE
      this.#retryAt = clock.now() + RETRY_MS
      this.#throttle.ended()
      return observer.failed(error)
    }
    if (this.#isCutDue && this.#cutThrottle.delay() === 0) await this.#cut()
  }

  /** Returns whether anything was written, or read as a whole. */
  async #write(): Promise<boolean> {
    const { clock, wallClock, model, observer } = this.#parts
    const startedAt = clock.now()
    if (startedAt >= this.#verifyAt) this.#suspectedBy ??= VERIFICATION
    if (startedAt >= this.#retryAt) this.#suspectedBy ??= FAILURE
    this.#takeEvents()
    const [by, hasChanges] = [this.#suspectedBy, this.#hasChanges]
    if (by === undefined && !hasChanges) return false
    if (by !== undefined) this.#verifyAt = NEVER
    this.#suspectedBy = undefined
    this.#hasChanges = false
    const changes = model.takeChanges()
    this.#hasStaleFlows ||= changes.isNarrower
    const refused = new Map<string, RefusedObject>()
    let transactions = 0
    const names = new Set<string>()
    try {
      for (const writer of this.#writers) {
        const source = { content: model.content, settings: this.#settings }
        const written = await (by === undefined
          ? writer.writeChanges(source, changes)
          : writer.writeAll(source))
        transactions += written.transactions
        for (const name of written.names) names.add(name)
        for (const [name, why] of written.refused) refused.set(name, why)
      }
    } catch (error) {
      this.#hasChanges ||= hasChanges
      this.#suspectedBy = isOwnChange(by) ? by : (this.#suspectedBy ?? by)
      throw error
    }
    const now = clock.now()
    if (by !== undefined) this.#verified(now - startedAt)
    this.#planRetry(refused.size > 0)
    // The kernel may have let in what the policies do not admit, for whatever reason it was read.
    if (by !== undefined && names.size > 0) this.#hasStaleFlows = true
    if (isRepair(by) && names.size > 0 && !hasChanges) observer.drifted([...names], by)
    observer.applied({ at: wallClock.now(), durationMs: now - startedAt, transactions, refused })
    return true
  }

  #takeEvents(): void {
    const events = this.#events
    if (events.length === 0) return
    this.#events = []
    this.#parts.model.apply(events)
    this.#hasChanges = true
  }

  #verified(tookMs: number): void {
    const pause = Math.max(this.#parts.verifyPeriodMs ?? VERIFY_MS, tookMs / VERIFY_SHARE)
    this.#verifyAt = this.#parts.clock.now() + pause
  }

  /** What was refused is tried again, ever less often. */
  #planRetry(hasRefusals: boolean): void {
    const delay = Math.min(RETRY_MS * 2 ** this.#retries, MAX_RETRY_MS)
    this.#retryAt = hasRefusals ? this.#parts.clock.now() + delay : NEVER
    this.#retries = hasRefusals ? this.#retries + 1 : 0
  }

  /** Deletes the tracked connections of isolated local Pods that the policies do not admit. */
  async #cut(): Promise<void> {
    const { conntrack, model, observer } = this.#parts
    const isOfNode = (ip: IpAddress) => this.#parts.isNodeAddress(ip)
    this.#cutThrottle.started()
    this.#hasStaleFlows = false
    try {
      const isRefused = (flow: FlowEnds) =>
        !isOfNode(flow.source) && !isOfNode(flow.destination) && !model.admits(flow)
      const isolated = isolatedPods(model.content)
      const { deleted } = await conntrack.cutRefused(isolated, isRefused)
      if (deleted > 0) observer.flowsCut(deleted)
    } catch (error) {
      this.#hasStaleFlows = true
      observer.flowsFailed(error)
    } finally {
      this.#cutThrottle.ended()
    }
  }
}

/** Whether what a run for this reason changes is drift. */
function isRepair(by: string | undefined): by is string {
  return by !== undefined && by !== FAILURE && !isOwnChange(by)
}

/** Whether the run writes what it never wrote before: what it changes is no drift then. */
function isOwnChange(by: string | undefined): boolean {
  return by === START || by === CONFIGURED
}

function authorOf({ by }: RuleChange<TouchedObject>): string {
  return by?.process ?? 'notification'
}

function isolatedPods({ pods }: PolicyContent): ReadonlySet<IpAddress> {
  return new Set(
    DIRECTIONS.flatMap((direction) =>
      [...pods[direction]].filter(([, to]) => to !== 'accept').map(([ip]) => ip),
    ),
  )
}
