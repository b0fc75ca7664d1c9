import type { ApiClient } from '../../client/api-client.ts'
import type { ClusterEvent } from '../../cluster/event.ts'
import { healthCheckOf } from '../../forwarding/health-check.ts'
import type { Clock } from '../../lib/clock.ts'
import type { IpAddress } from '../../lib/ip.ts'
import { IptablesMode } from '../../modes/iptables/mode.ts'
import type { NetfilterSettings } from '../../modes/netfilter/settings.ts'
import type { ServiceKey } from '../../resources/types.ts'
import type { FamilyName } from '../../telemetry/health/family-progress.ts'
import { Health } from '../../telemetry/health/health.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Metrics } from '../../telemetry/metrics/metrics.ts'
import type { WatchState } from '../../watch/cluster-watcher.ts'
import { healthCheckAddresses } from '../servers/health-check-addresses.ts'
import { HealthCheckPorts } from '../servers/health-check-ports.ts'
import { NodeEvents } from '../node-events.ts'
import { healthCheckBlocked, serviceReference } from '../warnings.ts'
import { publishApplied, seenVersions } from './applied-versions.ts'
import type { Configuration } from './configuration.ts'
import { type Blueprint, Engine } from './engine.ts'
import type { Kernel } from './kernel.ts'
import { type KernelFacts, netfilterSettings } from './netfilter-settings.ts'
import { nodeContext } from './node-identity.ts'
import { ServiceNotices } from './service-notices.ts'
import { observeSync } from './sync-observer.ts'
import { applySysctls } from './sysctls.ts'

export interface NodeProxyParts {
  readonly configuration: Configuration
  readonly kernel: Kernel
  readonly client: ApiClient
  readonly nodeName: string
  readonly metrics: Metrics
  readonly log: Logger
  readonly clock: Clock
  readonly facts: KernelFacts
}

interface IptablesBlueprint extends Blueprint {
  readonly settings: NetfilterSettings
}

/** Everything behind the watch and before the pages: cluster events in, kernel and notices out. */
export class NodeProxy {
  readonly health: Health
  readonly #parts: NodeProxyParts
  readonly #engine: Engine<IptablesBlueprint>
  readonly #checks: HealthCheckPorts
  readonly #notices: ServiceNotices
  readonly #triggers: number[] = []
  readonly #startedAt: number
  #local: readonly IpAddress[] = []
  #stopAddresses: () => void = () => {}
  #marking = false

  static async create(parts: NodeProxyParts): Promise<NodeProxy> {
    const proxy = new NodeProxy(parts, await holdsRules(parts.kernel))
    await proxy.#readAddresses()
    const { addresses } = parts.kernel
    proxy.#stopAddresses = addresses.watch(() => {
      void proxy.#readAddresses().then(() => proxy.#engine.refresh())
    })
    return proxy
  }

  private constructor(parts: NodeProxyParts, inherited: boolean) {
    this.#parts = parts
    const { clock, metrics, log, configuration, kernel, nodeName } = parts
    this.#startedAt = clock.now()
    const families = kernel.families.map((family): FamilyName => `IPv${family}`)
    const syncPeriod = () => configuration.current.iptables.syncPeriod
    this.health = new Health({ clock, families, syncPeriod, inherited })
    const events = this.#eventSender()
    this.#checks = new HealthCheckPorts({
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
    this.#engine = new Engine({
      clock,
      observer: observeSync({
        ...{ metrics, health: this.health, log, clock, families, triggers: this.#triggers },
        onCompiled: (services) => this.#compiled(services),
        ruleCountOf: (key) => this.#engine.running?.mode.program.ruleCountOf(key) ?? 0,
      }),
      cutFlows: async (flows) => (await kernel.conntrack.cut(flows)).deleted,
      blueprint: () => this.#blueprint(),
      build: ({ settings }) => new IptablesMode(settings, kernel),
      nodeContext: () => this.#nodeContext(),
    })
    this.#notices = new ServiceNotices({
      ...{ events, log, listeners: kernel.listeners },
      serviceOf: (key) => this.#engine.store.service(key),
      localAddresses: () => this.#local,
    })
    log.debug({ nodeName, inherited }, 'ready to follow the cluster')
  }

  get running() {
    return this.#engine.running
  }

  /** The first complete run is done. */
  get isApplied(): boolean {
    return [...this.health.report().status.values()].every(({ lastUpdated }) => lastUpdated !== undefined)
  }

  /** Takes events of the watch; `watch` is asked for versions once the batch is through. */
  take(events: readonly ClusterEvent[], watch: () => WatchState): void {
    this.#count(events)
    this.#engine.enqueue(events)
    if (this.#marking) return
    this.#marking = true
    setImmediate(() => {
      this.#marking = false
      this.mark(watch())
    })
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

  reconfigure(): void {
    applySysctls(this.#parts.configuration.current, this.#parts.kernel.sysctl, this.#parts.log)
    this.#engine.refresh()
    void this.#checks.setAddresses(this.#checkAddresses())
  }

  async stop(): Promise<void> {
    this.#stopAddresses()
    await this.#engine.stop()
    await this.#checks.close()
  }

  #count(events: readonly ClusterEvent[]): void {
    const { metrics } = this.#parts
    for (const event of events) {
      if (event.kind === 'service') metrics.serviceChanges.inc()
      if (event.kind !== 'endpoints') continue
      metrics.endpointChanges.inc()
      const at = event.value?.triggeredAt
      if (at !== undefined && at > this.#startedAt) this.#triggers.push(at)
    }
  }

  #compiled(services: readonly ServiceKey[]): void {
    const { store, running } = this.#engine
    this.health.setNodeEligible(store.node(this.#parts.nodeName)?.leaving !== true)
    const context = this.#nodeContext()
    for (const key of services) void this.#checks.replace(key, healthCheckOf(key, store, context))
    if (running) this.#notices.review(services, running.table)
  }

  #blueprint(): IptablesBlueprint {
    const { configuration, nodeName, facts } = this.#parts
    const config = configuration.current
    return {
      settings: netfilterSettings(config, this.#engine.store.node(nodeName), facts),
      minPeriodMs: config.iptables.minSyncPeriod,
      verifyPeriodMs: config.iptables.syncPeriod,
    }
  }

  #nodeContext() {
    const { configuration, nodeName } = this.#parts
    const node = this.#engine?.store.node(nodeName)
    return nodeContext(configuration.current, nodeName, { node, local: this.#local })
  }

  async #readAddresses(): Promise<void> {
    const all = await this.#parts.kernel.addresses.list()
    this.#local = all.filter(({ scope }) => scope !== 'link').map(({ ip }) => ip)
    await this.#checks.setAddresses(this.#checkAddresses())
  }

  #checkAddresses(): readonly IpAddress[] {
    const { configuration, nodeName, kernel } = this.#parts
    const primary = this.#engine.store.node(nodeName)?.addresses ?? []
    const node = { primary, local: this.#local, families: kernel.families }
    return healthCheckAddresses(configuration.current.nodePortAddresses, node)
  }

  #eventSender(): NodeEvents {
    const { client, clock, nodeName, metrics } = this.#parts
    return new NodeEvents({
      clock,
      nodeName,
      async send(event) {
        const path = `/api/v1/namespaces/${encodeURIComponent(event.metadata.namespace)}/events`
        const result = await client.create(path, event)
        if (!result.ok) throw new Error(result.failure.message)
      },
      onOutcome: (reason, outcome) => metrics.events.inc({ reason, outcome }),
    })
  }
}

/** Whether an earlier run left rules that serve. */
async function holdsRules({ iptables }: Kernel): Promise<boolean> {
  return (await iptables.listChain(4, 'nat', 'NPROXY-SERVICES')) !== undefined
}
