import type { ClusterEvent } from '../../cluster/cluster-store.ts'
import type { ClusterView } from '../../forwarding/node-context.ts'
import type { ChangeHistory } from '../../inspection/change-history.ts'
import type { Clock } from '../../lib/clock.ts'
import { formatDuration } from '../../lib/duration.ts'
import { regularly } from '../../lib/regularly.ts'
import type { Node } from '../../resources/types.ts'
import type { Health } from '../../telemetry/health/health.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Metrics } from '../../telemetry/metrics/metrics.ts'
import type { WatchState } from '../../watch/cluster-watcher.ts'
import type { WatchProblem } from '../../watch/feed.ts'
import type { Running } from '../engine/engine.ts'
import type { ThisNode } from '../engine/this-node.ts'
import { isEligible } from '../engine/this-node.ts'
import { applySysctls } from '../kernel/sysctls.ts'
import type { ChangeTimes } from '../observation/change-times.ts'
import type { NodeProxyParts } from './compose.ts'
import { type Composition, compose } from './compose.ts'

const HOUR_MS = 3_600_000
/**
 * Milliseconds that a stand-in may take to be complete. A service manager kills a process that takes longer to end than this and
 * the time for connections to drain together.
 */
const STAND_IN_MS = 8_000
const STANDS_IN = 'another mode forwards new connections until node-proxy runs again'
const NO_STAND_IN =
  'new connections wait until node-proxy runs again: no other mode can forward them'

type NamedDriver = NonNullable<ReturnType<NodeProxyParts['modes']['named']>>

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

  /** When this NodeProxy was created, in milliseconds since the epoch. */
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

  /** Calls back when the effect of everything that was taken so far is in the kernel; never, if it is before `start`. */
  afterApply(callback: () => void): void {
    this.#composed.engine.enqueue([], callback)
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

  /** Ends after the run in progress; the kernel keeps its state, or gets that of the stand-in of the mode. */
  async stop(): Promise<void> {
    const { control, engine, healthChecks } = this.#composed
    this.#stopAddresses()
    this.#stopSummary()
    await this.#standIn()
    await control.stop()
    await engine.stop()
    await healthChecks.close()
  }

  /** Leaves new connections to a mode that forwards without this process, where the mode itself does not. */
  async #standIn(): Promise<void> {
    const { modes, log } = this.#parts
    const driver = modes.named(modes.current.standIn ?? '')
    if (driver === undefined || this.running === undefined) return
    const mode = driver.name
    try {
      const why = await this.#startStandIn(driver)
      if (why === undefined) log.info({ mode }, STANDS_IN)
      else log.warn({ mode, why }, NO_STAND_IN)
    } catch (err) {
      log.error({ err, mode }, NO_STAND_IN)
    }
  }

  /** @returns why the mode does not stand in; undefined if it does */
  async #startStandIn(driver: NamedDriver): Promise<string | undefined> {
    const { clock, configuration } = this.#parts
    const { engine, node } = this.#composed
    const { missing } = await driver.prepare(node.modeInputs)
    if (missing.length > 0) return missing.map(({ what }) => what).join('; ')
    driver.tune(configuration.current)
    const timeout = new AbortController()
    const cancel = clock.after(STAND_IN_MS, () => timeout.abort())
    const isDone = await engine
      .standIn(driver.spec(node.modeInputs), timeout.signal)
      .finally(cancel)
    return isDone ? undefined : `its rules are not complete after ${formatDuration(STAND_IN_MS)}`
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

/** Where changes are counted. */
interface CountChangesParts {
  readonly metrics: Pick<Metrics, 'serviceChanges' | 'endpointChanges'>
  readonly changeTimes: Pick<ChangeTimes, 'note'>
  /** Milliseconds since the epoch. The times of earlier changes are ignored, as they do not measure this daemon. */
  readonly startedAt: number
}

/** Counts changes of Services and endpoints, and records when they happened. */
function countChanges(
  events: readonly ClusterEvent[],
  { metrics, changeTimes, startedAt }: CountChangesParts,
): void {
  for (const event of events) {
    if (event.kind === 'service') {
      metrics.serviceChanges.inc()
      changeTimes.note('service')
    }
    if (event.kind !== 'endpoints') continue
    metrics.endpointChanges.inc()
    const at = event.value?.triggeredAt
    changeTimes.note('endpoints', at !== undefined && at > startedAt ? at : undefined)
  }
}

/** What the summary is made of. */
interface SummaryParts {
  readonly clock: Clock
  readonly log: Pick<Logger, 'info'>
  readonly metrics: Pick<
    Metrics,
    'serviceChanges' | 'endpointChanges' | 'applyFailures' | 'driftRepairs' | 'apiFailures'
  >
  /** Numbers of objects that are served now, and the mode: fields of the record. */
  readonly now: () => Readonly<Record<string, unknown>>
}

type Counts = Readonly<Record<keyof SummaryParts['metrics'], number>>

/**
 * Logs once an hour what was done in that hour, even when nothing needs attention: without such a line the log does not
 * show whether the node still follows the cluster. The returned function stops it.
 */
export function summariseHourly({ clock, log, metrics, now }: SummaryParts): () => void {
  let before: Counts = {
    serviceChanges: 0,
    endpointChanges: 0,
    applyFailures: 0,
    driftRepairs: 0,
    apiFailures: 0,
  }
  const round = async (): Promise<void> => {
    const counts = await read(metrics)
    const of = (name: keyof Counts): number => counts[name] - before[name]
    const changes = `${of('endpointChanges')} changes of endpoints and ${of('serviceChanges')} of Services`
    const failures = `${of('applyFailures')} refusals of the kernel, ${of('driftRepairs')} repairs, ${of('apiFailures')} failed requests to the API server`
    before = counts
    log.info(now(), `in the last hour: ${changes}; ${failures}`)
  }
  return regularly({ clock, everyMs: HOUR_MS, round, onError: () => {} })
}

async function read(metrics: SummaryParts['metrics']): Promise<Counts> {
  const total = async (name: keyof Counts): Promise<number> => {
    const { values } = await metrics[name].get()
    return values.reduce((sum, { value }) => sum + value, 0)
  }
  return {
    serviceChanges: await total('serviceChanges'),
    endpointChanges: await total('endpointChanges'),
    applyFailures: await total('applyFailures'),
    driftRepairs: await total('driftRepairs'),
    apiFailures: await total('apiFailures'),
  }
}
