import type { ApiClient } from '../../client/http/api-client.ts'
import type { RequestReporter } from '../../client/http/api-failures.ts'
import { ClusterStore } from '../../cluster/cluster-store.ts'
import { ChangeHistory } from '../../inspection/change-history.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Mode } from '../../modes/mode.ts'
import type { KernelFacts } from '../../modes/netfilter/settings/settings.ts'
import type { ServiceKey } from '../../resources/types.ts'
import type { Conditions } from '../../telemetry/health/conditions.ts'
import { type FamilyName, Health } from '../../telemetry/health/health.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Metrics } from '../../telemetry/metrics/metrics.ts'
import { cutFlows } from '../engine/cut-flows.ts'
import { Engine } from '../engine/engine.ts'
import { PendingCleanups } from '../engine/pending-cleanups.ts'
import { ThisNode } from '../engine/this-node.ts'
import { eventSender } from '../events/node-events.ts'
import { ObjectProblems } from '../events/object-problems.ts'
import { ServiceEvents } from '../events/service-events.ts'
import type { Kernel } from '../kernel/kernel.ts'
import { LoopbackControl } from '../loopback/loopback-control.ts'
import { LoopbackOfMode } from '../loopback/loopback-of-mode.ts'
import type { LoopbackRouting } from '../loopback/loopback-routing.ts'
import type { Modes } from '../modes/modes.ts'
import { AppliedVersions } from '../observation/applied-versions.ts'
import { ChangeTimes } from '../observation/change-times.ts'
import { Reviews } from '../observation/reviews.ts'
import { observeSync, recordChanges } from '../observation/sync-observer.ts'
import { HealthChecks } from '../servers/health-checks.ts'
import type { Configuration } from './configuration.ts'

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
  const { clock, steadyClock, log, kernel, modes, metrics } = parts
  const { store, node, reviews, loopback, pendingCleanups, running } = reactions
  return new Engine({
    clock: steadyClock,
    wallClock: clock,
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

/** The parts of the kernel that every mode needs. */
type NodeKernel = Pick<Kernel, 'families' | 'conntrack' | 'sysctl' | 'addresses' | 'listeners'>

/** What a NodeProxy uses. */
export interface NodeProxyParts {
  readonly configuration: Pick<Configuration, 'current'>
  readonly modes: Pick<Modes, 'current' | 'others' | 'named'>
  readonly kernel: NodeKernel
  readonly client: ApiClient
  readonly nodeName: string
  readonly metrics: Metrics
  readonly conditions: Conditions
  readonly apiFailures: RequestReporter
  readonly loopback: LoopbackRouting
  readonly log: Logger
  readonly clock: Clock
  /** By which the kernel is written. */
  readonly steadyClock: Clock
  readonly facts: Omit<KernelFacts, 'routesLocalnet'>
}
