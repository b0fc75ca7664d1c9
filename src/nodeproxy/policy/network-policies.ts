import type { ApiClient } from '../../client/http/api-client.ts'
import type { RequestReporter } from '../../client/http/api-failures.ts'
import type { ClusterEvent } from '../../cluster/cluster-store.ts'
import type { Clock } from '../../lib/clock.ts'
import { messageOf } from '../../lib/error.ts'
import type { Family, IpAddress } from '../../lib/ip.ts'
import { Mutex } from '../../lib/mutex.ts'
import type { Random } from '../../lib/random.ts'
import { regularly } from '../../lib/regularly.ts'
import { PolicyEnforcer } from '../../policy/nftables/enforcer.ts'
import { whyNotLogged } from '../../policy/nftables/family-writer.ts'
import type { PolicyContent, PolicyEvent } from '../../policy/policy-content.ts'
import { PolicyModel } from '../../policy/policy-model.ts'
import { FailureLog } from '../../telemetry/failure-log.ts'
import type { Conditions } from '../../telemetry/health/conditions.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Metrics } from '../../telemetry/metrics/metrics.ts'
import type { WatchedResource } from '../../watch/cluster-watcher.ts'
import type { WatchProblem } from '../../watch/feed.ts'
import {
  createPolicyWatcher,
  describeRefusal,
  type PolicyRefusal,
  type PolicyWatcher,
} from '../../watch/policy-watcher.ts'
import type { NodeProxyConfiguration } from '../config/fields/configuration.ts'
import type { Kernel } from '../kernel/kernel.ts'
import { type PolicySockets, removePolicyTables } from '../kernel/policy-tables.ts'
import { DeniedLog } from './denied-log.ts'
import { describeEnforcers } from './foreign-enforcers.ts'
import { FAILING, observePolicies, PAGE, reportForbidden } from './observe-policies.ts'
import { countPolicies, type PolicyCounts, PolicyGauges } from './policy-gauges.ts'

/** Between two reviews of the decision. Each searches for other enforcers with about thirty requests to the kernel. */
const REVIEW_EVERY_MS = 10_000
/** How long the API is left alone after it refused twice, where enforcement depends on that. */
const REFUSED_MS = 5 * 60_000

/** Reasons of conditions. */
const NOT_ENFORCED = 'network-policy-not-enforced'
const FOREIGN_ENFORCER = 'foreign-policy-enforcer'

/** What `NetworkPolicies` uses. */
export interface NetworkPoliciesParts {
  readonly configuration: { readonly current: Pick<NodeProxyConfiguration, 'networkPolicy'> }
  readonly kernel: Pick<Kernel, 'rights' | 'traces' | 'conntrack'>
  readonly families: readonly Family[]
  readonly openSockets: () => PolicySockets
  readonly client: ApiClient
  readonly clock: Clock
  /** By which the kernel is written. */
  readonly steadyClock: Clock
  readonly random: Pick<Random, 'below'>
  readonly reporter: RequestReporter
  readonly nodeName: string
  /** The addresses of the node as it is now. */
  readonly nodeAddresses: () => readonly IpAddress[]
  readonly metrics: Metrics
  readonly conditions: Pick<Conditions, 'raise' | 'clear'>
  readonly log: Logger
  readonly onProblem: (problem: WatchProblem) => void
}

/** An enforcement that was started. */
interface Running extends PolicySockets {
  readonly model: PolicyModel
  readonly enforcer: PolicyEnforcer<PolicyEvent>
  readonly watcher: PolicyWatcher
  /** Ends the watches; resolves when they have ended. */
  readonly endWatching: () => Promise<void>
  isListed: boolean
  /** What is in the kernel; undefined until the rules were there once. */
  applied: PolicyCounts | undefined
  /** Checks of the API that were refused in succession. */
  refusals: number
  /** Why ClusterNetworkPolicies are not read although the API server has them; undefined if they are. */
  withoutClusterPolicies: string | undefined
}

/**
 * Decides whether this node enforces NetworkPolicies, and does so while the decision holds: it is made again when the
 * configuration changes, when the API refuses or permits what is needed, and every ten seconds, because another
 * enforcer may have appeared. Where nothing is enforced, there are no watches and no rules.
 */
export class NetworkPolicies {
  readonly #parts: NetworkPoliciesParts
  readonly #mutex = new Mutex()
  readonly #gauges: PolicyGauges
  readonly #failures: FailureLog
  readonly #denied: DeniedLog
  #running: Running | undefined
  /** Why nothing is enforced; undefined while something is, or before the first decision. */
  #whyNot: string | undefined
  /** What was logged last. */
  #logged: string | undefined
  /** Whether the kernel has no rules of ours: neither of this process nor of an earlier one. */
  #isClean = false
  /** Until then a refusal of the API is a reason not to enforce; 0: there is none. */
  #refusedUntil = 0
  /** The last refusal of the API as a clause; empty: it permitted everything when it was last checked, or was not yet. */
  #refusal = ''
  #node: PolicyEvent | undefined
  #isClusterListed = false
  #isStopped = false
  #stopReviews: () => void = () => {}

  constructor(parts: NetworkPoliciesParts) {
    this.#parts = parts
    this.#gauges = new PolicyGauges(parts.metrics)
    this.#failures = new FailureLog(parts)
    this.#denied = new DeniedLog({ ...parts, known: () => this.#running?.model })
  }

  start(): void {
    const { clock } = this.#parts
    this.#stopReviews = regularly({
      clock,
      everyMs: REVIEW_EVERY_MS,
      round: () => this.#mutex.run(() => this.#review()),
      onError: (error) => this.#reportFailure(error),
    })
    this.#reviewSoon()
  }

  /** Takes the podCIDRs of this node from events of the cluster. */
  takeCluster(events: readonly ClusterEvent[]): void {
    const { nodeName } = this.#parts
    for (const event of events) {
      if (event.kind !== 'node' || event.name !== nodeName) continue
      this.#node = { kind: 'node', podCIDRs: event.value?.podCIDRs ?? [] }
      this.#running?.enforcer.enqueue([this.#node])
    }
  }

  /** The Node was listed, or cannot be: its podCIDRs are as complete as they get. */
  clusterListed(): void {
    this.#isClusterListed = true
    this.#setSynced()
  }

  /** The configuration changed. */
  reconfigure(): void {
    this.#running?.enforcer.configure(this.#settings)
    this.#reviewSoon()
  }

  /** What is enforced, or why nothing is, in one line. */
  describe(): string {
    const running = this.#running
    if (running === undefined) return `not enforced: ${this.#whyNot ?? 'not decided yet'}`
    if (running.applied === undefined) {
      const rest = this.#refusal === '' ? 'the API is being listed' : this.#refusal
      return `not enforced yet: ${rest}`
    }
    const { policy, isolated_address } = running.applied
    const without = running.withoutClusterPolicies
    const rest = without ? `; ClusterNetworkPolicies are not read: ${without}` : ''
    return `${policy} policies isolate ${isolated_address} addresses of pods${rest}`
  }

  /** What is enforced; undefined while nothing is. */
  enforced(): PolicyContent | undefined {
    const { applied, model } = this.#running ?? {}
    return applied && model?.content
  }

  /** The resources that are followed, and their states; none while nothing is enforced. */
  watched(): readonly WatchedResource[] {
    return this.#running?.watcher.state() ?? []
  }

  /** Updates the metrics that are read at each scrape. */
  async refreshMetrics(): Promise<void> {
    const running = this.#running
    const applied = running?.applied
    this.#parts.metrics.policyEnforcement.set(applied === undefined ? 0 : 1)
    this.#gauges.showCounts(applied)
    const dropped = applied && (await running?.enforcer.readDropped().catch(() => undefined))
    if (dropped !== undefined) this.#gauges.addDropped(dropped)
  }

  /** Ends the watches and the work; the kernel keeps the rules. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#stopReviews()
    await this.#mutex.run(() => this.#end())
  }

  get #enforce() {
    return this.#parts.configuration.current.networkPolicy.enforce
  }

  get #settings() {
    const { unknownPods, establishedConnections } = this.#parts.configuration.current.networkPolicy
    return { unknownPods, establishedConnections, logDeniedPerSecond: this.#denied.perSecond }
  }

  #reviewSoon(): void {
    this.#mutex.run(() => this.#review()).catch((error) => this.#reportFailure(error))
  }

  #reportFailure(error: unknown): void {
    const message =
      'starting or ending the enforcement of NetworkPolicies failed; it is tried again'
    const record = { level: 'error', fields: { err: error }, message, summary: () => ({}) } as const
    this.#failures.report('review', record)
  }

  async #review(): Promise<void> {
    const whyNot = await this.#decide()
    if (this.#isStopped) return
    if (whyNot === undefined) await this.#turnOn()
    else await this.#turnOff(whyNot)
  }

  /** Why nothing is to be enforced; undefined if it is. */
  async #decide(): Promise<string | undefined> {
    const { kernel, families, conditions, steadyClock } = this.#parts
    const enforce = this.#enforce
    if (enforce !== true) conditions.clear(NOT_ENFORCED)
    if (enforce === false) {
      conditions.clear(FOREIGN_ENFORCER)
      return 'networkPolicy.enforce is false'
    }
    if (!kernel.rights.ok) {
      const { what, remedy } = kernel.rights.missing
      return this.#raiseIfDemanded(`${what}; ${remedy}`)
    }
    const others = await describeEnforcers(kernel.traces, families)
    if (enforce === 'auto') {
      conditions.clear(FOREIGN_ENFORCER)
      if (others !== undefined) return `another program on this node enforces them: ${others}`
      return steadyClock.now() < this.#refusedUntil ? this.#refusal : undefined
    }
    if (others === undefined) conditions.clear(FOREIGN_ENFORCER)
    else {
      const message = `networkPolicy.enforce is true, and another program on this node enforces NetworkPolicies as well: ${others}. A connection needs the consent of both; remove the other one, or set networkPolicy.enforce to auto; see ${PAGE}`
      conditions.raise(FOREIGN_ENFORCER, { message, blocksReadiness: false })
    }
    return undefined
  }

  /** Returns `why`. If the configuration demands enforcement (`true`), raises a condition as well. */
  #raiseIfDemanded(why: string): string {
    if (this.#enforce === true) {
      const message = `networkPolicy.enforce is true, and NetworkPolicies are not enforced: ${why}; see ${PAGE}`
      this.#parts.conditions.raise(NOT_ENFORCED, { message, blocksReadiness: true })
    }
    return why
  }

  async #turnOn(): Promise<void> {
    if (this.#running !== undefined) {
      if (this.#running.refusals > 0) this.#raiseIfDemanded(this.#refusal)
      const { enforcer } = this.#running
      if (await this.#followLog(this.#running)) enforcer.configure(this.#settings)
      return
    }
    const sockets = this.#parts.openSockets()
    try {
      await sockets.nftables.generation()
    } catch (error) {
      sockets.nftables.close()
      const why = `the kernel has no nf_tables (${messageOf(error)}); load the module nf_tables`
      return this.#turnOff(this.#raiseIfDemanded(why))
    }
    this.#isClean = false
    this.#whyNot = undefined
    this.#forgetRefusal()
    await this.#followLog(sockets)
    this.#running = this.#startWith(sockets)
  }

  /** Opens or closes the log of denied packets; resolves to whether the rules have to be written for another rate. */
  #followLog({ nftables, openPacketLog }: PolicySockets): Promise<boolean> {
    const { logDeniedPerSecond } = this.#parts.configuration.current.networkPolicy
    const whyNot = () => whyNotLogged(nftables)
    return this.#denied.follow(logDeniedPerSecond, { openPacketLog, whyNot })
  }

  #startWith(sockets: PolicySockets): Running {
    const { clock, steadyClock, kernel, families, nodeName, nodeAddresses } = this.#parts
    const model = new PolicyModel({ nodeName })
    const enforcer = new PolicyEnforcer<PolicyEvent>({
      ...sockets,
      model,
      clock: steadyClock,
      wallClock: clock,
      families,
      conntrack: kernel.conntrack,
      settings: this.#settings,
      isNodeAddress: (ip) => nodeAddresses().includes(ip),
      observer: observePolicies({ ...this.#parts, onApplied: () => this.#onApplied(running) }),
    })
    const watcher = createPolicyWatcher({
      ...this.#parts,
      onEvents: (events) => enforcer.enqueue(events),
      onSynced: () => {
        running.isListed = true
        this.#setSynced()
      },
      onRefused: (refusal) => this.#onRefused(running, refusal),
      onPermitted: () => {
        running.refusals = 0
        this.#forgetRefusal()
        this.#parts.conditions.clear(NOT_ENFORCED)
      },
      onClusterPoliciesForbidden: (failure) => {
        running.withoutClusterPolicies = reportForbidden(failure, this.#parts.log)
      },
    })
    const stop = new AbortController()
    const watching = watcher.run(stop.signal)
    const running: Running = {
      ...sockets,
      model,
      enforcer,
      watcher,
      isListed: false,
      applied: undefined,
      refusals: 0,
      withoutClusterPolicies: undefined,
      endWatching() {
        stop.abort()
        return watching
      },
    }
    if (this.#node) enforcer.enqueue([this.#node])
    return running
  }

  #setSynced(): void {
    if (this.#isClusterListed && this.#running?.isListed) this.#running.enforcer.setSynced()
  }

  #onApplied(running: Running): void {
    const isFirst = running.applied === undefined
    running.applied = countPolicies(running.model.content)
    if (!isFirst) return
    const { log } = this.#parts
    this.#logged = undefined
    log.info(running.applied, 'NetworkPolicies are enforced on this node')
  }

  #forgetRefusal(): void {
    this.#refusedUntil = 0
    this.#refusal = ''
  }

  /** The first refusal may be that of a server that starts, so rules of an earlier process stay for now. */
  #onRefused(running: Running, refusal: PolicyRefusal): void {
    if (running !== this.#running) return
    running.refusals++
    this.#refusal = describeRefusal(refusal)
    if (this.#enforce !== true && running.refusals > 1) {
      this.#refusedUntil = this.#parts.steadyClock.now() + REFUSED_MS
      this.#reviewSoon()
    } else {
      this.#raiseIfDemanded(this.#refusal)
      this.#logNotEnforced(this.#refusal)
    }
  }

  async #turnOff(why: string): Promise<void> {
    await this.#end()
    if (!this.#isClean && this.#parts.kernel.rights.ok) {
      const { nftables } = this.#parts.openSockets()
      try {
        await removePolicyTables(nftables)
      } finally {
        nftables.close()
      }
      this.#isClean = true
    }
    this.#parts.conditions.clear(FAILING)
    this.#whyNot = why
    this.#logNotEnforced(why)
  }

  /** Ends what runs; the kernel keeps the rules. */
  async #end(): Promise<void> {
    const running = this.#running
    if (running === undefined) return
    this.#running = undefined
    await running.endWatching()
    await running.enforcer.stop()
    this.#denied.close()
    running.nftables.close()
  }

  #logNotEnforced(why: string): void {
    if (this.#logged === why) return
    this.#logged = why
    this.#parts.log.info({ why }, `NetworkPolicies are not enforced on this node: ${why}`)
  }
}
