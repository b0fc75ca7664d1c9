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
  readonly cluster: ClusterView
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
  readonly #services = new Map<ServiceKey, Service>()
  #isListed = false
  #isApplied = false
  #isNodeChanged = false
  #isWaiting = false

  constructor(parts: AnnouncedServicesParts) {
    this.#parts = parts
  }

  /** Whether the rules of the whole cluster are in the kernel. */
  get isApplied(): boolean {
    return this.#isApplied
  }

  get byKey(): ReadonlyMap<ServiceKey, Service> {
    return this.#services
  }

  /** Those with these keys, with their endpoints; all of them unless keys are given. */
  list(keys: Iterable<ServiceKey> = this.#services.keys()): readonly AnnouncedService[] {
    return [...keys].flatMap((key) => {
      const service = this.#services.get(key)
      if (service === undefined) return []
      const { loadBalancerClass } = service
      return [{ service, loadBalancerClass, endpoints: this.#parts.cluster.endpointSourcesOf(key) }]
    })
  }

  /** Takes events of the cluster that were passed to the proxy before; they count when they are in the kernel. */
  takeCluster(events: readonly ClusterEvent[]): void {
    let isConcerned = false
    for (const event of events) {
      if (event.kind === 'service') {
        const before = this.#services.delete(event.key)
        const isServed = event.value !== undefined && this.#serves(event.value)
        if (event.value && isServed) this.#services.set(event.key, event.value)
        isConcerned ||= before || isServed
      } else if (event.kind === 'endpoints') {
        isConcerned ||= event.value === undefined || this.#services.has(event.value.service)
      } else if (event.kind === 'node') {
        isConcerned = true
        this.#isNodeChanged = true
      }
    }
    if (isConcerned && this.#isListed && this.#parts.isWanted()) this.#changeSoon()
  }

  /** The cluster is listed, and the kernel is being written. */
  clusterListed(): void {
    this.#isListed = true
    this.#parts.afterApply(() => {
      this.#isApplied = true
      this.#changed()
    })
  }

  #serves(service: Service): boolean {
    const { proxyName } = this.#parts.configuration.current
    return service.type === 'LoadBalancer' && (service.proxyName ?? '') === proxyName
  }

  /** Reports when the events so far are in the kernel. */
  #changeSoon(): void {
    if (this.#isWaiting) return
    this.#isWaiting = true
    const done = () => {
      if (!this.#isWaiting) return
      this.#isWaiting = false
      cancel()
      this.#changed()
    }
    const cancel = this.#parts.clock.after(APPLY_MS, done)
    this.#parts.afterApply(done)
  }

  #changed(): void {
    const isNodeChanged = this.#isNodeChanged
    this.#isNodeChanged = false
    this.#parts.onChange(isNodeChanged)
  }
}
