import type { ApiClient } from '../../client/api-client.ts'
import type { ClusterEvent } from '../../cluster/event.ts'
import { healthCheckOf } from '../../forwarding/health-check.ts'
import { deafMonitor } from '../../kernel/nftables-monitor/deaf-monitor.ts'
import type { Clock } from '../../lib/clock.ts'
import { MARTIANS } from '../../modes/iptables/base.ts'
import { IptablesMode } from '../../modes/iptables/mode.ts'
import type { ObjectKey } from '../../modes/mode.ts'
import type { NetfilterSettings } from '../../modes/netfilter/settings.ts'
import type { Node, ServiceKey } from '../../resources/types.ts'
import type { FamilyName } from '../../telemetry/health/family-progress.ts'
import { Health } from '../../telemetry/health/health.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Metrics } from '../../telemetry/metrics/metrics.ts'
import type { WatchState } from '../../watch/cluster-watcher.ts'
import type { WatchProblem } from '../../watch/problem.ts'
import type { NodeEvents } from '../node-events.ts'
import { healthCheckAddresses } from '../servers/health-check-addresses.ts'
import { HealthCheckPorts } from '../servers/health-check-ports.ts'
import { healthCheckBlocked, serviceReference } from '../warnings.ts'
import { publishApplied, seenVersions } from './applied-versions.ts'
import { ChangeTimes } from './change-times.ts'
import type { Configuration } from './configuration.ts'
import { cutFlows } from './cut-flows.ts'
import { type Blueprint, Engine } from './engine.ts'
import { eventSender } from './event-sender.ts'
import type { Kernel } from './kernel.ts'
import { LocalAddresses } from './local-addresses.ts'
import { type KernelFacts, netfilterSettings } from './netfilter-settings.ts'
import { isEligible, nodeContext } from './node-identity.ts'
import { ObjectProblems } from './object-problems.ts'
import { ServiceNotices } from './service-notices.ts'
import { observeSync } from './sync-observer.ts'
import { applySysctls, routeLocalnet, routesLocalnet } from './sysctls.ts'

/** Where changes by others are heard, reading everything back is only a second pair of eyes. */
const VERIFY_MS = 600_000

export interface NodeProxyParts {
  readonly configuration: Configuration
  readonly kernel: Kernel
  readonly client: ApiClient
  readonly nodeName: string
  readonly metrics: Metrics
  readonly log: Logger
  readonly clock: Clock
  readonly facts: Omit<KernelFacts, 'routesLocalnet'>
}

interface IptablesBlueprint extends Blueprint {
  readonly settings: NetfilterSettings
}

/** Everything behind the watch and before the pages: cluster events in, kernel and notices out. */
export class NodeProxy {
  readonly health: Health
  readonly changeTimes = new ChangeTimes()
  readonly #parts: NodeProxyParts
  readonly #engine: Engine<IptablesBlueprint, IptablesMode>
  readonly #checks: HealthCheckPorts
  readonly #notices: ServiceNotices
  readonly #problems: ObjectProblems
  readonly #startedAt: number
  readonly #local: LocalAddresses
  #stopAddresses: () => void = () => {}
  #marking = false

  static async create(parts: NodeProxyParts): Promise<NodeProxy> {
    const proxy = new NodeProxy(parts, await holdsRules(parts.kernel))
    proxy.#stopAddresses = await proxy.#local.follow(() => {
      proxy.#engine.refresh()
      proxy.#placeChecks()
    })
    proxy.#placeChecks()
    return proxy
  }

  private constructor(parts: NodeProxyParts, inherited: boolean) {
    this.#parts = parts
    const { clock, log, configuration, kernel, nodeName } = parts
    this.#startedAt = clock.now()
    this.#local = new LocalAddresses(kernel.addresses, log)
    const families = kernel.families.map((family): FamilyName => `IPv${family}`)
    const syncPeriod = () => configuration.current.iptables.syncPeriod
    this.health = new Health({ clock, families, syncPeriod, inherited })
    const events = eventSender(parts)
    this.#problems = new ObjectProblems(log, events)
    this.#checks = this.#healthChecks(events)
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

  /** The first complete run is done. */
  get isApplied(): boolean {
    const families = [...this.health.report().status.values()]
    return families.every(({ lastUpdated }) => lastUpdated !== undefined)
  }

  /** Takes events of the watch; `watch` is asked for versions once the batch is through. */
  take(events: readonly ClusterEvent[], watch: () => WatchState): void {
    this.#count(events)
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
  }

  /** The configuration is another one. */
  reconfigure(): void {
    const { configuration, kernel, log } = this.#parts
    applySysctls(configuration.current, kernel.sysctl, log)
    this.#engine.refresh()
    this.#placeChecks()
  }

  async stop(): Promise<void> {
    this.#stopAddresses()
    await this.#engine.stop()
    await this.#checks.close()
  }

  #count(events: readonly ClusterEvent[]): void {
    const { metrics } = this.#parts
    for (const event of events) {
      if (event.kind === 'service') {
        metrics.serviceChanges.inc()
        this.changeTimes.note('service')
      }
      if (event.kind !== 'endpoints') continue
      metrics.endpointChanges.inc()
      const at = event.value?.triggeredAt
      this.changeTimes.note('endpoints', at !== undefined && at > this.#startedAt ? at : undefined)
    }
  }

  get #node(): Node | undefined {
    return this.#engine.store.node(this.#parts.nodeName)
  }

  #followNode(before: Node | undefined): void {
    const eligible = isEligible(before, this.#node)
    if (eligible !== undefined) this.health.setNodeEligible(eligible)
    this.#placeChecks()
  }

  #compiled(services: readonly ServiceKey[]): void {
    const { store, running } = this.#engine
    const context = this.#nodeContext()
    for (const key of services) void this.#checks.replace(key, healthCheckOf(key, store, context))
    if (running) this.#notices.review(services, running.table.problems())
  }

  /** Loopback is opened to routing once the rules that guard it stand. */
  #written(failed: ReadonlyMap<ObjectKey, unknown>): void {
    const { configuration, kernel, log } = this.#parts
    if (!configuration.current.iptables.localhostNodePorts) return
    const isGuarded = MARTIANS.every(
      (key) => this.#engine.running?.tracker.isWanted(key) && !failed.has(key),
    )
    if (isGuarded) routeLocalnet(kernel.sysctl, log)
  }

  #blueprint(): IptablesBlueprint {
    const { configuration, facts, kernel } = this.#parts
    const config = configuration.current
    const known = { ...facts, routesLocalnet: routesLocalnet(kernel.sysctl) }
    return {
      settings: netfilterSettings(config, this.#node, known),
      minPeriodMs: config.iptables.minSyncPeriod,
      verifyPeriodMs:
        this.#parts.kernel.monitor === deafMonitor ? config.iptables.syncPeriod : VERIFY_MS,
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
    const primary = this.#node?.addresses ?? []
    const node = { primary, local: this.#local.current, families: kernel.families }
    const { nodePortAddresses } = configuration.current
    void this.#checks.setAddresses(healthCheckAddresses(nodePortAddresses, node))
  }

  #createEngine(families: readonly FamilyName[]): Engine<IptablesBlueprint, IptablesMode> {
    const { clock, metrics, log, kernel } = this.#parts
    const { health, changeTimes } = this
    return new Engine({
      clock,
      observer: observeSync({
        ...{ metrics, health, log, clock, families, changeTimes },
        onCompiled: (services) => this.#compiled(services),
        onWritten: (failed) => this.#written(failed),
        ruleCountOf: (key) => this.running?.mode.program.ruleCountOf(key) ?? 0,
      }),
      cutFlows: (flows) => cutFlows(flows, { conntrack: kernel.conntrack, metrics, clock }),
      blueprint: () => this.#blueprint(),
      build: ({ settings }) => new IptablesMode(settings, kernel),
      nodeContext: () => this.#nodeContext(),
    })
  }

  #healthChecks(events: NodeEvents): HealthCheckPorts {
    const { clock, metrics, log } = this.#parts
    return new HealthCheckPorts({
      clock,
      healthy: () => this.health.report().healthy,
      onBlocked: (service, error) => {
        log.warn({ err: error, service }, 'a health check port is not served')
        events.warn(healthCheckBlocked(serviceReference(service), error.message))
      },
      onCount: (listening, blocked) => {
        metrics.healthCheckPorts.set({ state: 'listening' }, listening)
        metrics.healthCheckPorts.set({ state: 'blocked' }, blocked)
      },
    })
  }
}

/** Whether an earlier run left rules that serve. */
async function holdsRules({ iptables }: Kernel): Promise<boolean> {
  return (await iptables.listChain(4, 'nat', 'NPROXY-SERVICES')) !== undefined
}
