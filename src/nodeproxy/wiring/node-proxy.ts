import type { ApiClient } from '../../client/api-client.ts'
import type { RequestReporter } from '../../client/api-failures.ts'
import type { ClusterEvent } from '../../cluster/event.ts'
import { healthCheckOf } from '../../forwarding/health-check.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Mode, ObjectKey } from '../../modes/mode.ts'
import { nodePortScope } from '../../modes/netfilter/configured-scope.ts'
import type { KernelFacts, ModeInputs } from '../../modes/netfilter/mode-inputs.ts'
import type { Node, ServiceKey } from '../../resources/types.ts'
import type { Conditions } from '../../telemetry/health/conditions.ts'
import type { FamilyName } from '../../telemetry/health/family-progress.ts'
import { Health } from '../../telemetry/health/health.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Metrics } from '../../telemetry/metrics/metrics.ts'
import type { WatchState } from '../../watch/cluster-watcher.ts'
import type { WatchProblem } from '../../watch/problem.ts'
import type { NodeProxyConfiguration } from '../config/configuration.ts'
import { healthCheckAddresses } from '../servers/health-check-addresses.ts'
import type { HealthCheckPorts } from '../servers/health-check-ports.ts'
import { publishApplied, seenVersions } from './applied-versions.ts'
import { ChangeTimes } from './change-times.ts'
import type { Configuration } from './configuration.ts'
import { countChanges } from './count-changes.ts'
import { cutFlows } from './cut-flows.ts'
import { Engine } from './engine.ts'
import { eventSender } from './event-sender.ts'
import { healthChecks } from './health-checks.ts'
import type { Kernel } from './kernel.ts'
import { LocalAddresses } from './local-addresses.ts'
import { LoopbackControl } from './loopback/loopback-control.ts'
import type { LoopbackRouting } from './loopback/loopback-routing.ts'
import type { Modes } from './modes/modes.ts'
import { isEligible, nodeContext } from './node-identity.ts'
import { ObjectProblems } from './object-problems.ts'
import { Retirements } from './retirements.ts'
import { Reviews } from './reviews.ts'
import { ServiceNotices } from './service-notices.ts'
import { observeSync } from './sync-observer.ts'
import { applySysctls, routesLocalnet } from './sysctls.ts'

/** What of the kernel every mode needs. */
export type NodeKernel = Pick<
  Kernel,
  'families' | 'conntrack' | 'sysctl' | 'addresses' | 'listeners'
>

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
  readonly facts: Omit<KernelFacts, 'routesLocalnet'>
}

/** Everything behind the watch and before the pages: cluster events in, kernel and notices out. */
export class NodeProxy {
  readonly health: Health
  readonly changeTimes = new ChangeTimes()
  readonly #parts: NodeProxyParts
  readonly #engine: Engine
  readonly #retirements: Retirements
  readonly #checks: HealthCheckPorts
  readonly #notices: ServiceNotices
  readonly #problems: ObjectProblems
  readonly #reviews: Reviews
  readonly #startedAt: number
  readonly #local: LocalAddresses
  readonly #loopback: LoopbackControl
  /** The mode that holds everything, so that no other one serves. */
  #completeMode: string | undefined
  #stopAddresses: () => void = () => {}
  #marking = false

  static async create(parts: NodeProxyParts): Promise<NodeProxy> {
    const { current, others } = parts.modes
    const serving = await Promise.all([current, ...others].map((kind) => kind.isServing()))
    const proxy = new NodeProxy(parts, serving.includes(true))
    await proxy.#loopback.start()
    proxy.#stopAddresses = await proxy.#local.follow(() => {
      proxy.#engine.refresh()
      proxy.#placeChecks()
    })
    proxy.#placeChecks()
    return proxy
  }

  private constructor(parts: NodeProxyParts, inherited: boolean) {
    this.#parts = parts
    const { clock, log, configuration, modes, kernel, nodeName } = parts
    this.#startedAt = clock.now()
    this.#local = new LocalAddresses(kernel.addresses, log)
    const families = kernel.families.map((family): FamilyName => `IPv${family}`)
    const syncPeriod = () => modes.current.periods(configuration.current).syncPeriod
    this.health = new Health({ clock, families, syncPeriod, inherited })
    const events = eventSender(parts)
    this.#problems = new ObjectProblems(log, events)
    this.#checks = healthChecks({ ...parts, events, health: this.health })
    this.#reviews = new Reviews({ ...parts, engine: () => this.#engine })
    this.#retirements = this.#createRetirements()
    const onClosed = () => this.#engine.refresh()
    this.#loopback = new LoopbackControl({ ...parts, routing: parts.loopback, onClosed })
    this.#engine = this.#createEngine(families)
    this.#notices = new ServiceNotices({
      ...{ events, log, listeners: kernel.listeners },
      serviceOf: (key) => this.#engine.store.service(key),
      localAddresses: () => this.#local.current,
    })
    log.debug({ nodeName, inherited }, 'ready to follow the cluster')
  }

  get running() {
    return this.#engine.running
  }

  /** The mode that is at work, or is to be once the cluster is listed. */
  get modeName(): string {
    return this.running?.mode.name ?? this.#parts.modes.current.name
  }

  /** Backends that get nothing new and keep their connections. */
  get draining(): number {
    return (this.running?.mode.draining ?? 0) + this.#retirements.draining
  }

  /** The first complete run is done. */
  get isApplied(): boolean {
    const families = [...this.health.report().status.values()]
    return families.every(({ lastUpdated }) => lastUpdated !== undefined)
  }

  /** Takes events of the watch; `watch` is asked for versions once the batch is through. */
  take(events: readonly ClusterEvent[], watch: () => WatchState): void {
    countChanges(events, {
      metrics: this.#parts.metrics,
      changeTimes: this.changeTimes,
      startedAt: this.#startedAt,
    })
    const node = this.#node
    this.#engine.enqueue(events)
    if (events.some(({ kind }) => kind === 'node')) this.#followNode(node)
    if (this.#marking) return
    this.#marking = true
    setImmediate(() => {
      this.#marking = false
      this.mark(watch())
    })
  }

  /** An object that the watch could not use. */
  takeProblem(problem: WatchProblem): void {
    this.#problems.tell(problem)
  }

  /** Publishes the versions of `state` as soon as their effect is in the kernel. */
  mark(state: WatchState): void {
    const versions = seenVersions(state)
    this.#engine.enqueue([], () => publishApplied(this.#parts.metrics, versions))
  }

  start(): void {
    this.#parts.log.info(this.#engine.store.counts, 'the cluster is listed; programming the kernel')
    this.#engine.start()
    this.#reviews.node()
  }

  /** The configuration is another one. */
  reconfigure(): void {
    const { configuration, modes, kernel, log } = this.#parts
    applySysctls(configuration.current, kernel.sysctl, log)
    modes.current.tune(configuration.current)
    this.#engine.refresh()
    this.#closeLoopback()
    this.#placeChecks()
    this.#reviews.node()
  }

  async stop(): Promise<void> {
    this.#stopAddresses()
    await this.#loopback.stop()
    await this.#engine.stop()
    await this.#checks.close()
  }

  get #node(): Node | undefined {
    return this.#engine.store.node(this.#parts.nodeName)
  }

  #followNode(before: Node | undefined): void {
    const eligible = isEligible(before, this.#node)
    if (eligible !== undefined) this.health.setNodeEligible(eligible)
    this.#placeChecks()
    this.#reviews.node()
  }

  #compiled(services: readonly ServiceKey[]): void {
    const { store, running } = this.#engine
    const context = this.#nodeContext()
    for (const key of services) void this.#checks.replace(key, healthCheckOf(key, store, context))
    if (running) this.#notices.review(services, running.table.problems())
    this.#reviews.services()
  }

  /** Loopback is opened to routing once the rules that guard it stand. */
  #openLoopback(mode: Mode, failed: ReadonlyMap<ObjectKey, unknown>): void {
    const { configuration, modes } = this.#parts
    const { running } = this
    const guards = modes.named(mode.name)?.loopbackGuards(configuration.current)
    if (guards === undefined || running?.mode !== mode) return
    if (guards.every((key) => running.tracker.isWanted(key) && !failed.has(key))) {
      this.#loopback.open()
    }
  }

  /** Loopback is closed once no mode at work needs it: during a change of mode both are. */
  #closeLoopback(): void {
    const { configuration, modes } = this.#parts
    const mode = modes.current
    if (this.#completeMode !== mode.name) return
    if (mode.loopbackGuards(configuration.current) === undefined) this.#loopback.close()
  }

  #completed(mode: string): void {
    this.#completeMode = mode
    this.#closeLoopback()
    this.#retirements.completed(mode)
    this.#reviews.completed()
  }

  #inputs(): ModeInputs<NodeProxyConfiguration> {
    const { configuration, facts, kernel } = this.#parts
    return {
      config: configuration.current,
      node: this.#node,
      facts: { ...facts, routesLocalnet: routesLocalnet(kernel.sysctl) },
      localAddresses: this.#local.current,
    }
  }

  #nodeContext() {
    const { configuration, nodeName } = this.#parts
    const known = { node: this.#node, local: this.#local.current }
    return nodeContext(configuration.current, nodeName, known)
  }

  /** Opens and closes the sockets of health check node ports where they are to be served. */
  #placeChecks(): void {
    const { configuration, kernel } = this.#parts
    const scope = nodePortScope(configuration.current.nodePortAddresses, this.#node)
    const node = { local: this.#local.current, families: kernel.families }
    void this.#checks.setAddresses(healthCheckAddresses(scope, node))
  }

  #createEngine(families: readonly FamilyName[]): Engine {
    const { clock, metrics, log, kernel, modes, configuration } = this.#parts
    const { health, changeTimes } = this
    const told = { metrics, health, log, clock, families, changeTimes }
    return new Engine({
      ...{ clock, log, retirements: this.#retirements },
      onComplete: (mode) => this.#completed(mode),
      observe: (mode) =>
        observeSync({
          ...told,
          onCompiled: (services) => this.#compiled(services),
          onWritten: (failed) => this.#openLoopback(mode, failed),
          onApplied: () => this.#reviews.applied(),
          onTrouble: () => void modes.named(mode.name)?.recover(configuration.current),
          describe: (key) => mode.program.describe(key),
        }),
      cutFlows: (flows) => {
        const ownPorts = this.running?.mode.traffic?.ownPorts
        return cutFlows(flows, { conntrack: kernel.conntrack, metrics, clock, ownPorts })
      },
      spec: () => modes.current.spec(this.#inputs()),
      nodeContext: () => this.#nodeContext(),
    })
  }

  /** Other modes may have left something in an earlier run. */
  #createRetirements(): Retirements {
    const { clock, log, modes } = this.#parts
    const retirements = new Retirements({ clock, log })
    for (const kind of modes.others) {
      const leftovers = kind.leftovers(() => this.#inputs())
      if (leftovers) retirements.owe(kind.name, leftovers)
    }
    return retirements
  }
}
