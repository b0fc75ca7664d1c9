import { ClusterStore } from '../../cluster/cluster-store.ts'
import { ChangeHistory } from '../../inspection/change-history.ts'
import type { Clock } from '../../lib/clock.ts'
import type { ConditionSink, ModeReview } from '../../modes/definition/mode-view.ts'
import type { KernelError, Mode, ObjectKey } from '../../modes/mode.ts'
import type { Service, ServiceKey } from '../../resources/types.ts'
import type { SyncObserver } from '../../sync/sync-loop.ts'
import type { Conditions } from '../../telemetry/health/conditions.ts'
import { type FamilyName, Health } from '../../telemetry/health/health.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Configuration } from './configuration.ts'
import { cutFlows } from './engine/cut-flows.ts'
import { Engine, type Running } from './engine/engine.ts'
import { PendingCleanups } from './engine/pending-cleanups.ts'
import { eventSender } from './events/event-sender.ts'
import { ObjectProblems } from './events/object-problems.ts'
import { ServiceEvents } from './events/service-events.ts'
import { HealthChecks } from './health-checks.ts'
import { LoopbackControl } from './loopback-control.ts'
import type { Modes } from './modes.ts'
import { reviewNode } from './node-conditions.ts'
import type { NodeProxyParts } from './node-proxy-parts.ts'
import { AppliedVersions } from './observation/applied-versions.ts'
import { ChangeTimes } from './observation/change-times.ts'
import { observeSync } from './observation/sync-observer.ts'
import { ThisNode } from './this-node.ts'

/** The connected parts. */
export type Composition = ReturnType<typeof compose>

/**
 * Connects the parts of a node proxy. `inherited`: rules of an earlier process are in the kernel and
 * serve traffic.
 */
export function compose(parts: NodeProxyParts, inherited: boolean) {
  const { log, kernel, metrics } = parts
  const running = () => engine.running
  const store = new ClusterStore()
  const changeTimes = new ChangeTimes()
  const health = createHealth(parts, inherited)
  const node = new ThisNode({ ...parts, store })
  const events = eventSender(parts)
  const objectProblems = new ObjectProblems(log, events)
  const { families, listeners } = kernel
  const healthChecks = new HealthChecks({ ...parts, families, events, health, store, node })
  const serviceEvents = new ServiceEvents({ events, log, listeners, store, node })
  const reviews = new Reviews({ ...parts, engine: () => engine })
  const pendingCleanups = createPendingCleanups(parts, node)
  const onClosed = () => engine.refresh()
  const control = new LoopbackControl({ ...parts, routing: parts.loopback, onClosed })
  const loopback = new LoopbackOfMode({ ...parts, control, running })
  const history = new ChangeHistory()
  const reactions = {
    store,
    history,
    health,
    changeTimes,
    healthChecks,
    serviceEvents,
    reviews,
    loopback,
  }
  const engine = createEngine(parts, { ...reactions, node, pendingCleanups, running })
  const afterApply = (callback: () => void) => engine.enqueue([], callback)
  const versions = new AppliedVersions({ metrics, afterApply })
  const observed = { health, history, changeTimes, versions }
  const onNode = { node, healthChecks, loopback, control }
  return { engine, pendingCleanups, reviews, objectProblems, ...onNode, ...observed }
}

interface Reactions {
  readonly store: ClusterStore
  readonly node: ThisNode
  readonly history: ChangeHistory
  readonly health: Health
  readonly changeTimes: ChangeTimes
  readonly healthChecks: HealthChecks
  readonly serviceEvents: ServiceEvents
  readonly reviews: Reviews
  readonly loopback: LoopbackOfMode
  readonly pendingCleanups: PendingCleanups
  readonly running: () => Engine['running']
}

/** Creates the engine, with everything that reacts to a run of its loop. */
function createEngine(parts: NodeProxyParts, reactions: Reactions): Engine {
  const { clock, log, kernel, modes, metrics } = parts
  const { store, node, reviews, loopback, pendingCleanups, running } = reactions
  return new Engine({
    clock,
    log,
    store,
    pendingCleanups,
    onComplete: (mode) => {
      loopback.completed(mode)
      pendingCleanups.completed(mode)
      reviews.completed()
    },
    observe: (mode) => recordChanges(observeMode(mode, parts, reactions), reactions.history, clock),
    cutFlows: (flows) => {
      const ownPorts = running()?.mode.traffic?.ownPorts
      return cutFlows(flows, { conntrack: kernel.conntrack, metrics, clock, ownPorts })
    },
    spec: () => modes.current.spec(node.modeInputs),
    nodeContext: () => node.context,
  })
}

function observeMode(mode: Mode, parts: NodeProxyParts, reactions: Reactions) {
  const { metrics, log, clock, modes, configuration } = parts
  const { health, changeTimes, healthChecks, serviceEvents, reviews, loopback } = reactions
  return observeSync({
    metrics,
    health,
    log,
    clock,
    changeTimes,
    families: familyNames(parts),
    onCompiled: (services: readonly ServiceKey[]) => {
      healthChecks.replace(services)
      const running = reactions.running()
      if (running) serviceEvents.review(services, running.table.problems())
      reviews.services()
    },
    onWritten: (failed) => loopback.written(mode, failed),
    onApplied: () => reviews.applied(),
    onFailure: () => void modes.named(mode.name)?.recover(configuration.current),
    describe: (key) => mode.program.describe(key),
  })
}

function createHealth(parts: NodeProxyParts, inherited: boolean): Health {
  const { clock, modes, configuration } = parts
  const syncPeriod = () => modes.current.periods(configuration.current).syncPeriod
  return new Health({ clock, families: familyNames(parts), syncPeriod, inherited })
}

/** Plans the removal of all modes but the current one, which an earlier process may have left in the kernel. */
function createPendingCleanups(parts: NodeProxyParts, node: ThisNode): PendingCleanups {
  const { clock, log, modes } = parts
  const pendingCleanups = new PendingCleanups({ clock, log })
  for (const driver of modes.others) {
    const leftovers = driver.leftovers(() => node.modeInputs)
    if (leftovers) pendingCleanups.add(driver.name, leftovers, () => driver.isServing())
  }
  return pendingCleanups
}

function familyNames({ kernel }: NodeProxyParts): readonly FamilyName[] {
  return kernel.families.map((family): FamilyName => `IPv${family}`)
}

/** What `LoopbackOfMode` uses. */
interface LoopbackOfModeParts {
  readonly control: Pick<LoopbackControl, 'open' | 'close'>
  readonly configuration: Pick<Configuration, 'current'>
  readonly modes: Pick<Modes, 'current' | 'named'>
  readonly running: () => Running | undefined
}

/** Opens and closes loopback routing as the active modes need it. */
class LoopbackOfMode {
  readonly #parts: LoopbackOfModeParts
  /** The name of the mode that has all objects in the kernel, and alone serves traffic. */
  #completeMode: string | undefined

  constructor(parts: LoopbackOfModeParts) {
    this.#parts = parts
  }

  /** `mode` wrote objects: opens loopback when the rules that guard it are in the kernel. */
  written(mode: Mode, failed: ReadonlyMap<ObjectKey, unknown>): void {
    const { control, configuration, modes } = this.#parts
    const running = this.#parts.running()
    const guards = modes.named(mode.name)?.loopbackGuards(configuration.current)
    if (guards === undefined || running?.mode !== mode) return
    if (guards.every((key) => running.tracker.isWanted(key) && !failed.has(key))) control.open()
  }

  /** The mode of this name has all objects in the kernel. */
  completed(mode: string): void {
    this.#completeMode = mode
    this.reconfigured()
  }

  /** Closes loopback if the mode does not need it. Does nothing during a change of mode, when two modes are active. */
  reconfigured(): void {
    const { control, configuration, modes } = this.#parts
    const mode = modes.current
    if (this.#completeMode !== mode.name) return
    if (mode.loopbackGuards(configuration.current) === undefined) control.close()
  }
}

/** What `Reviews` reads. */
interface ReviewsParts {
  readonly configuration: Pick<Configuration, 'current'>
  readonly modes: Pick<Modes, 'current' | 'others'>
  readonly nodeName: string
  readonly conditions: Conditions
  readonly log: Pick<Logger, 'info'>
  readonly engine: () => Pick<Engine, 'running'> & {
    readonly store: Pick<Engine['store'], 'node' | 'service' | 'serviceCIDRs' | 'counts'>
  }
}

/** Raises and clears conditions as configuration, cluster and kernel change. */
class Reviews {
  readonly #parts: ReviewsParts
  #isComplete = false

  constructor(parts: ReviewsParts) {
    this.#parts = parts
  }

  /** The Node object or the configuration changed. Does nothing until the cluster is listed. */
  node(): void {
    const { configuration, conditions, nodeName, engine } = this.#parts
    const { running, store } = engine()
    if (running === undefined) return
    const { serviceCIDRs } = store
    const node = store.node(nodeName)
    reviewNode(conditions, { config: configuration.current, nodeName, node, serviceCIDRs })
  }

  /** Services or the configuration changed. */
  services(): void {
    const { configuration, conditions, modes } = this.#parts
    const { running, store } = this.#parts.engine()
    if (running === undefined) return
    const config = configuration.current
    const serviceOf = (key: ServiceKey): Service | undefined => store.service(key)
    for (const { name, review } of [modes.current, ...modes.others]) {
      review?.services(conditions, { config, isAtWork: name === running.mode.name, serviceOf })
    }
  }

  /** A run of the sync loop ended. */
  applied(): void {
    const { conditions, modes, engine } = this.#parts
    const { running } = engine()
    if (running === undefined) return
    const reviews = [modes.current, ...modes.others].flatMap(({ review }) => review ?? [])
    reviewKernelErrors(conditions, reviews, running.tracker.failures())
  }

  /** A mode has all objects in the kernel; the first time is logged. */
  completed(): void {
    const { running, store } = this.#parts.engine()
    if (running === undefined || this.#isComplete) return
    this.#isComplete = true
    this.#log(running, store.counts.services)
  }

  #log(running: Running, services: number): void {
    const secondsSinceStart = Number(process.uptime().toFixed(3))
    const facts = { ...describeRules(running, services), secondsSinceStart }
    this.#parts.log.info(facts, 'the rules are in the kernel for the first time')
  }
}

/** Counts for the log record of the first complete run of a mode. */
function describeRules(
  { mode, table, tracker }: Running,
  services: number,
): Readonly<Record<string, number | string>> {
  let [entries, frontends, endpoints] = [0, 0, 0]
  for (const { frontends: own, pools } of table.entries()) {
    entries++
    frontends += own.length
    // An endpoint of two Services counts twice, because building a set of hundreds of thousands would delay the record.
    endpoints += Math.max(pools.cluster.length, pools.local.length)
  }
  const objects = [...tracker.wantedKeys()].length
  const refused = tracker.failures().size
  return {
    mode: mode.name,
    services,
    entries,
    frontends,
    endpoints,
    objects,
    refused,
  }
}

/** An observer that also writes the history of changes. */
export function recordChanges(
  observer: SyncObserver,
  history: ChangeHistory,
  clock: Pick<Clock, 'now'>,
): SyncObserver {
  return {
    ...observer,
    compiled(services) {
      history.compiled(services, clock.now())
      observer.compiled(services)
    },
    applied(run) {
      history.applied(run)
      observer.applied(run)
    },
    drifted(drift, by) {
      history.driftRepaired += drift.length
      observer.drifted(drift, by)
    },
  }
}

const REASON = 'kernel-refusals'

/**
 * Raises a condition for the objects that the kernel refuses at present, and clears it when there are none.
 * The review of a mode reports the errors that its configuration causes. An error of one Service does
 * not block readiness: otherwise the owner of that Service could stop a rollout.
 */
export function reviewKernelErrors(
  conditions: ConditionSink,
  reviews: readonly ModeReview[],
  failures: ReadonlyMap<ObjectKey, { readonly refusal: KernelError }>,
): void {
  const errors = [...failures].map(([key, { refusal }]) => ({ key, ...refusal }))
  for (const review of reviews) {
    const messages = errors.filter((error) => review.isConfigured(error))
    const unique = [...new Set(messages.map(({ message }) => message))].toSorted()
    review.configuredErrors(conditions, unique)
  }
  const isConfigured = (error: KernelError) => reviews.some((review) => review.isConfigured(error))
  const [first, ...more] = errors.filter((error) => !isConfigured(error))
  if (first === undefined) return conditions.clear(REASON)
  conditions.raise(REASON, {
    blocksReadiness: false,
    message: `the kernel refuses ${first.key}${more.length > 0 ? ' and others' : ''} (${first.code}: ${first.message}); the row of the code in docs/errors.md has the remedy`,
  })
}
