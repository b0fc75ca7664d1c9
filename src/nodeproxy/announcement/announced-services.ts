import type { AnnouncedService } from '../../announcement/eligible-nodes.ts'
import type { ClusterEvent } from '../../cluster/cluster-store.ts'
import type { ClusterView } from '../../forwarding/node-context.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Service, ServiceKey } from '../../resources/types.ts'
import type { NodeProxyConfiguration } from '../config/fields/configuration.ts'

/** A change counts after so many milliseconds, even if the kernel refuses what it causes. */
const APPLY_MS = 2_000

/** What `AnnouncedServices` uses. */
export interface AnnouncedServicesParts {
  readonly configuration: { readonly current: Pick<NodeProxyConfiguration, 'proxyName'> }
  readonly clock: Pick<Clock, 'after'>
  readonly cluster: Pick<ClusterView, 'endpointSourcesOf'>
  /** Calls back when everything that was enqueued before is in the kernel. */
  readonly afterApply: (callback: () => void) => void
  /** Whether anything is announced. */
  readonly isWanted: () => boolean
  /** Called when changes are in the kernel; whether the Node object is among them. */
  readonly onChange: (isNodeChanged: boolean) => void
}

/** The Services of type LoadBalancer that this node forwards for, as its kernel has them. */
export class AnnouncedServices {
  readonly #parts: AnnouncedServicesParts
  /** As the cluster has them. */
  readonly #services = new Map<ServiceKey, Service>()
  readonly #applied = new Map<ServiceKey, AnnouncedService>()
  /** Those that changed and are not waited for yet. */
  #changed = new Set<ServiceKey>()
  #isNodeChanged = false
  /** Those that are being written to the kernel. */
  #waiting: ReadonlySet<ServiceKey> | undefined
  #isListed = false
  #isApplied = false

  constructor(parts: AnnouncedServicesParts) {
    this.#parts = parts
  }

  /** Whether the rules of the whole cluster are in the kernel. */
  get isApplied(): boolean {
    return this.#isApplied
  }

  get byKey(): ReadonlyMap<ServiceKey, AnnouncedService> {
    return this.#applied
  }

  /** Those with these keys, with their endpoints; all of them unless keys are given. */
  list(keys: Iterable<ServiceKey> = this.#applied.keys()): readonly AnnouncedService[] {
    return [...keys].flatMap((key) => this.#applied.get(key) ?? [])
  }

  /** Takes events that the proxy has got already. What they change is announced when its rules are in the kernel. */
  takeCluster(events: readonly ClusterEvent[]): void {
    for (const event of events) {
      if (event.kind === 'service') {
        const wasServed = this.#services.delete(event.key)
        const isServed = event.value !== undefined && this.#serves(event.value)
        if (event.value && isServed) this.#services.set(event.key, event.value)
        if (wasServed || isServed) this.#changed.add(event.key)
      } else if (event.kind === 'endpoints') {
        for (const key of this.#servicesOf(event)) this.#changed.add(key)
      } else if (event.kind === 'node') this.#isNodeChanged = true
    }
    if (this.#isListed && this.#parts.isWanted()) this.#wait()
    else this.#apply(this.#takeChanged())
  }

  /** The cluster is listed, and the kernel is being written. */
  clusterListed(): void {
    this.#isListed = true
    this.#parts.afterApply(() => {
      this.#isApplied = true
      this.#report()
    })
  }

  /** The Services that endpoints concern. Those that are gone concern a Service that has other ones than before. */
  #servicesOf({ value }: Extract<ClusterEvent, { kind: 'endpoints' }>): Iterable<ServiceKey> {
    if (value !== undefined) return this.#services.has(value.service) ? [value.service] : []
    const { cluster } = this.#parts
    return [...this.#services.keys()].filter(
      (key) => this.#applied.get(key)?.endpoints !== cluster.endpointSourcesOf(key),
    )
  }

  #serves(service: Service): boolean {
    const { proxyName } = this.#parts.configuration.current
    return service.type === 'LoadBalancer' && (service.proxyName ?? '') === proxyName
  }

  /** Reports what changed so far when it is in the kernel, then what changed meanwhile. */
  #wait(): void {
    const isChanged = this.#changed.size > 0 || this.#isNodeChanged
    if (this.#waiting !== undefined || !isChanged) return
    const keys = this.#takeChanged()
    this.#waiting = keys
    const done = () => {
      if (this.#waiting !== keys) return
      this.#waiting = undefined
      cancel()
      this.#apply(keys)
      this.#report()
      this.#wait()
    }
    const cancel = this.#parts.clock.after(APPLY_MS, done)
    this.#parts.afterApply(done)
  }

  #takeChanged(): ReadonlySet<ServiceKey> {
    const keys = this.#changed
    this.#changed = new Set()
    return keys
  }

  #report(): void {
    const isNodeChanged = this.#isNodeChanged
    this.#isNodeChanged = false
    this.#parts.onChange(isNodeChanged)
  }

  #apply(keys: ReadonlySet<ServiceKey>): void {
    for (const key of keys) {
      const service = this.#services.get(key)
      const endpoints = this.#parts.cluster.endpointSourcesOf(key)
      if (service === undefined) this.#applied.delete(key)
      else this.#applied.set(key, { service, endpoints })
    }
  }
}
