import type { AnnouncedService } from '../../announcement/eligible-nodes.ts'
import type { ClusterEvent } from '../../cluster/cluster-store.ts'
import type { ClusterView } from '../../forwarding/node-context.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Service, ServiceKey } from '../../resources/types.ts'
import type { NodeProxyConfiguration } from '../config/fields/configuration.ts'

/** While the kernel takes no change at all, a change counts after so many milliseconds: routes must be withdrawn even then. */
const REFUSED_MS = 2_000

/** What `AnnouncedServices` uses. */
export interface AnnouncedServicesParts {
  readonly configuration: { readonly current: Pick<NodeProxyConfiguration, 'proxyName'> }
  readonly clock: Pick<Clock, 'after'>
  readonly cluster: Pick<ClusterView, 'endpointSourcesOf'>
  /** Calls back when everything that was enqueued before is in the kernel. */
  readonly afterApply: (callback: () => void) => void
  /** Whether the kernel took nothing of the last change. */
  readonly isRefused: () => boolean
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
  /** The Service of `#services` that has an endpoint source, by the name of the source. */
  readonly #ownerOf = new Map<string, ServiceKey>()
  /** As the kernel has them. */
  readonly #applied = new Map<ServiceKey, AnnouncedService>()
  /** Those that changed, while others are being written to the kernel. */
  readonly #changed = new Set<ServiceKey>()
  #isNodeChanged = false
  /** What is being written to the kernel; undefined as a value: the Service is gone. */
  #waiting: ReadonlyMap<ServiceKey, AnnouncedService | undefined> | undefined
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
        this.#setService(event)
      } else if (event.kind === 'endpoints') {
        this.#setEndpoints(event)
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

  #setService({ key, value }: Extract<ClusterEvent, { kind: 'service' }>): void {
    const wasServed = this.#services.delete(key)
    const isServed = value !== undefined && this.#serves(value)
    if (isServed) {
      this.#services.set(key, value)
      const sources = this.#parts.cluster.endpointSourcesOf(key)
      for (const { name } of sources) this.#ownerOf.set(name, key)
    }
    if (wasServed || isServed) this.#changed.add(key)
  }

  /** Endpoints change their Service and, when they move or are gone, the one that had them. */
  #setEndpoints({ name, value }: Extract<ClusterEvent, { kind: 'endpoints' }>): void {
    const before = this.#ownerOf.get(name)
    this.#ownerOf.delete(name)
    if (before !== undefined && this.#services.has(before)) this.#changed.add(before)
    if (value === undefined || !this.#services.has(value.service)) return
    this.#ownerOf.set(name, value.service)
    this.#changed.add(value.service)
  }

  #serves(service: Service): boolean {
    const { proxyName } = this.#parts.configuration.current
    return service.type === 'LoadBalancer' && (service.proxyName ?? '') === proxyName
  }

  /** Reports what changed so far when it is in the kernel, then what changed meanwhile. */
  #wait(): void {
    const isChanged = this.#changed.size > 0 || this.#isNodeChanged
    if (this.#waiting !== undefined || !isChanged) return
    const changes = this.#takeChanged()
    this.#waiting = changes
    const done = () => {
      if (this.#waiting !== changes) return
      this.#waiting = undefined
      cancel()
      this.#apply(changes)
      this.#report()
      this.#wait()
    }
    let cancel = () => {}
    const waitForRefusal = () => {
      cancel = this.#parts.clock.after(REFUSED_MS, () => {
        if (this.#parts.isRefused()) done()
        else waitForRefusal()
      })
    }
    waitForRefusal()
    this.#parts.afterApply(done)
  }

  /** What changed, as the cluster has it now: what comes later is not in the kernel with it. */
  #takeChanged(): ReadonlyMap<ServiceKey, AnnouncedService | undefined> {
    const keys = [...this.#changed]
    this.#changed.clear()
    return new Map(
      keys.map((key) => {
        const service = this.#services.get(key)
        const endpoints = this.#parts.cluster.endpointSourcesOf(key)
        return [key, service && { service, endpoints }]
      }),
    )
  }

  #report(): void {
    const isNodeChanged = this.#isNodeChanged
    this.#isNodeChanged = false
    this.#parts.onChange(isNodeChanged)
  }

  #apply(changes: ReadonlyMap<ServiceKey, AnnouncedService | undefined>): void {
    for (const [key, value] of changes) {
      if (value === undefined) this.#applied.delete(key)
      else this.#applied.set(key, value)
    }
  }
}
