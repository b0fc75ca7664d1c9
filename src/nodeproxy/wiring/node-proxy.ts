import type { ClusterEvent } from '../../cluster/cluster-event.ts'
import type { Node } from '../../resources/types.ts'
import type { Health } from '../../telemetry/health/health.ts'
import type { WatchState } from '../../watch/cluster-watcher.ts'
import type { WatchProblem } from '../../watch/problem.ts'
import { type Composition, compose } from './compose.ts'
import type { Running } from './engine/engine.ts'
import { applySysctls } from './kernel/sysctls.ts'
import { isEligible } from './node/node-identity.ts'
import type { NodeProxyParts } from './node-proxy-parts.ts'
import type { ChangeTimes } from './observation/change-times.ts'
import { countChanges } from './observation/count-changes.ts'

/** Everything between the watch and the status pages: cluster events in; kernel state and Events out. */
export class NodeProxy {
  readonly #parts: NodeProxyParts
  readonly #composed: Composition
  readonly #startedAt: number
  #stopAddresses: () => void = () => {}

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

  get health(): Health {
    return this.#composed.health
  }

  get changeTimes(): ChangeTimes {
    return this.#composed.changeTimes
  }

  /** Undefined until the cluster is listed. */
  get running(): Running | undefined {
    return this.#composed.engine.running
  }

  /** The mode at work; before the cluster is listed, the mode that will be. */
  get modeName(): string {
    return this.running?.mode.name ?? this.#parts.modes.current.name
  }

  /** The number of backends that get no new connections and keep their established ones. */
  get draining(): number {
    return (this.running?.mode.draining ?? 0) + this.#composed.pendingCleanups.draining
  }

  /** The first complete run is done. */
  get isApplied(): boolean {
    const families = [...this.health.report().status.values()]
    return families.every(({ lastUpdated }) => lastUpdated !== undefined)
  }

  /** Takes events of the watch; reads `watch` for their versions once all of a batch arrived. */
  take(events: readonly ClusterEvent[], watch: () => WatchState): void {
    const { engine, node, versions } = this.#composed
    const { metrics } = this.#parts
    const { changeTimes } = this
    countChanges(events, { metrics, changeTimes, startedAt: this.#startedAt })
    const before = node.object
    engine.enqueue(events)
    if (events.some(({ kind }) => kind === 'node')) this.#followNode(before)
    versions.markSoon(watch)
  }

  /** An object that the watch could not decode, or not completely. */
  takeProblem(problem: WatchProblem): void {
    this.#composed.objectProblems.report(problem)
  }

  /** Publishes the versions of `state` as soon as their effect is in the kernel. */
  mark(state: WatchState): void {
    this.#composed.versions.mark(state)
  }

  /** The cluster is listed: the kernel is written from now on. */
  start(): void {
    const { engine, reviews } = this.#composed
    this.#parts.log.info(engine.store.counts, 'the cluster is listed; programming the kernel')
    engine.start()
    reviews.node()
  }

  /** The configuration changed. */
  reconfigure(): void {
    const { configuration, modes, kernel, log } = this.#parts
    const { engine, loopback, healthChecks, reviews } = this.#composed
    applySysctls(configuration.current, kernel.sysctl, log)
    modes.current.tune(configuration.current)
    engine.refresh()
    loopback.reconfigured()
    healthChecks.place()
    reviews.node()
  }

  /** Ends after the run in progress; the kernel keeps its state. */
  async stop(): Promise<void> {
    const { control, engine, healthChecks } = this.#composed
    this.#stopAddresses()
    await control.stop()
    await engine.stop()
    await healthChecks.close()
  }

  async #open(): Promise<void> {
    const { control, node, engine, healthChecks } = this.#composed
    await control.start()
    this.#stopAddresses = await node.followAddresses(() => {
      engine.refresh()
      healthChecks.place()
    })
    healthChecks.place()
  }

  #followNode(before: Node | undefined): void {
    const { node, healthChecks, reviews } = this.#composed
    const eligible = isEligible(before, node.object)
    if (eligible !== undefined) this.health.setNodeEligible(eligible)
    healthChecks.place()
    reviews.node()
  }
}
