import type { ClusterEvent } from '../../cluster/cluster-event.ts'
import type { ClusterView } from '../../forwarding/cluster-view.ts'
import type { ChangeHistory } from '../../inspection/history/change-history.ts'
import type { Node } from '../../resources/types.ts'
import type { Health } from '../../telemetry/health/health.ts'
import type { WatchState } from '../../watch/cluster-watcher.ts'
import type { WatchProblem } from '../../watch/problem.ts'
import { type Composition, compose } from './compose.ts'
import type { Running } from './engine/engine.ts'
import { applySysctls } from './kernel/sysctls.ts'
import { isEligible } from './node/node-identity.ts'
import type { ThisNode } from './node/this-node.ts'
import type { NodeProxyParts } from './node-proxy-parts.ts'
import type { ChangeTimes } from './observation/change-times.ts'
import { countChanges } from './observation/count-changes.ts'
import { summariseHourly } from './observation/hourly-summary.ts'

/** Turns cluster events into kernel state, Events and health. */
export class NodeProxy {
  readonly #parts: NodeProxyParts
  readonly #composed: Composition
  readonly #startedAt: number
  #stopAddresses: () => void = () => {}
  #stopSummary: () => void = () => {}

  /** Opens the health check node ports and guards loopback; the kernel is written after `start`. */
  static async create(parts: NodeProxyParts): Promise<NodeProxy> {
    const { current, others } = parts.modes
    const serving = await Promise.all([current, ...others].map((kind) => kind.isServing()))
    const proxy = new NodeProxy(parts, serving.includes(true))
    await proxy.#open()
    return proxy
  }

  private constructor(parts: NodeProxyParts, inherited: boolean) {
    this.#parts = parts
    this.#startedAt = parts.clock.now()
    this.#composed = compose(parts, inherited)
    parts.log.debug({ nodeName: parts.nodeName, inherited }, 'ready to follow the cluster')
  }

  /** The progress of the sync loop. */
  get health(): Health {
    return this.#composed.health
  }

  /** The last changes that reached the kernel. */
  get history(): ChangeHistory {
    return this.#composed.history
  }

  /** The objects of the cluster, as of the last event. */
  get cluster(): ClusterView {
    return this.#composed.engine.store
  }

  /** This node as it is now. */
  get node(): ThisNode {
    return this.#composed.node
  }

  /** When it was created, in milliseconds since the epoch. */
  get startedAt(): number {
    return this.#startedAt
  }

  /** The changes that are not in the kernel yet. */
  get changeTimes(): ChangeTimes {
    return this.#composed.changeTimes
  }

  /** Undefined until the cluster is listed. */
  get running(): Running | undefined {
    return this.#composed.engine.running
  }

  /** The name of the active mode; before the cluster is listed, of the chosen one. */
  get modeName(): string {
    return this.running?.mode.name ?? this.#parts.modes.current.name
  }

  /** The number of backends that get no new connections and keep their established ones. */
  get draining(): number {
    return (this.running?.mode.draining ?? 0) + this.#composed.pendingCleanups.draining
  }

  /** Whether a run has succeeded since the start. */
  get isApplied(): boolean {
    const families = [...this.health.report().status.values()]
    return families.every(({ lastUpdated }) => lastUpdated !== undefined)
  }

  /** Applies events of the watch; reads their versions from `watch` when all events of a batch have arrived. */
  take(events: readonly ClusterEvent[], watch: () => WatchState): void {
    const { engine, node, versions, reviews } = this.#composed
    const { metrics } = this.#parts
    const { changeTimes } = this
    countChanges(events, { metrics, changeTimes, startedAt: this.#startedAt })
    const before = node.object
    engine.enqueue(events)
    if (events.some(({ kind }) => kind === 'node')) this.#followNode(before)
    if (events.some(({ kind }) => kind === 'serviceCIDR')) reviews.node()
    versions.markSoon(watch)
  }

  /** Reports an object that the watch could not decode, or not completely. */
  takeProblem(problem: WatchProblem): void {
    this.#composed.objectProblems.report(problem)
  }

  /** Publishes the versions of `state` as soon as their effect is in the kernel. */
  mark(state: WatchState): void {
    this.#composed.versions.mark(state)
  }

  /** The cluster is listed: begins to write the kernel. */
  start(): void {
    const { engine, reviews } = this.#composed
    this.#parts.log.info(engine.store.counts, 'the cluster is listed; programming the kernel')
    engine.start()
    reviews.node()
    const { clock, log, metrics } = this.#parts
    const now = () => ({ mode: this.modeName, ...engine.store.counts })
    this.#stopSummary = summariseHourly({ clock, log, metrics, now })
  }

  /** The configuration changed. */
  reconfigure(): void {
    const { configuration, modes, kernel, log } = this.#parts
    const { engine, loopback, healthChecks, reviews } = this.#composed
    applySysctls(configuration.current, kernel.sysctl, log)
    modes.current.tune(configuration.current)
    engine.refresh()
    loopback.reconfigured()
    healthChecks.updateListeners()
    reviews.node()
  }

  /** Ends after the run in progress; the kernel keeps its state. */
  async stop(): Promise<void> {
    const { control, engine, healthChecks } = this.#composed
    this.#stopAddresses()
    this.#stopSummary()
    await control.stop()
    await engine.stop()
    await healthChecks.close()
  }

  async #open(): Promise<void> {
    const { control, node, engine, healthChecks } = this.#composed
    await control.start()
    this.#stopAddresses = await node.followAddresses(() => {
      engine.refresh()
      healthChecks.updateListeners()
    })
    healthChecks.updateListeners()
  }

  #followNode(before: Node | undefined): void {
    const { node, healthChecks, reviews } = this.#composed
    const eligible = isEligible(before, node.object)
    if (eligible !== undefined) this.health.setNodeEligible(eligible)
    healthChecks.updateListeners()
    reviews.node()
  }
}
