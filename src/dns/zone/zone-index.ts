import type { IpAddress } from '../../lib/ip.ts'
import type { ServiceKey } from '../../resources/types.ts'
import { endpointHosts } from './endpoint-hosts.ts'
import type { ZoneView } from './zone-view.ts'

/** What one Service adds to the index. */
interface Entry {
  readonly namespace: string
  /** Labels of endpoints of a headless Service, by address; the empty label stands for the Service. */
  readonly labels: ReadonlyMap<IpAddress, ReadonlySet<string>>
}

/** What a zone cannot look up by the name of a Service: namespaces with Services, and names of addresses. */
export class ZoneIndex {
  readonly #view: ZoneView
  readonly #entries = new Map<ServiceKey, Entry>()
  readonly #namespaces = new Map<string, number>()
  readonly #owners = new Map<IpAddress, Set<ServiceKey>>()

  constructor(view: ZoneView) {
    this.#view = view
  }

  /** Reads again the Services that changed. */
  update(changed: Iterable<ServiceKey>): void {
    for (const key of changed) {
      this.#remove(key)
      this.#add(key)
    }
  }

  /** Whether the namespace has a Service. */
  hasNamespace(namespace: string): boolean {
    return this.#namespaces.has(namespace)
  }

  /** The names that an address has, relative to the zone, in order: `web.shop.svc`, `db-0.db.shop.svc`. */
  namesOf(ip: IpAddress): readonly string[] {
    const names = [...(this.#owners.get(ip) ?? [])].flatMap((key) => {
      const [namespace, service] = key.split('/')
      const labels = this.#entries.get(key)?.labels.get(ip) ?? []
      return [...labels].map((label) => `${label && `${label}.`}${service}.${namespace}.svc`)
    })
    return names.toSorted()
  }

  #add(key: ServiceKey): void {
    const service = this.#view.service(key)
    if (service === undefined) return
    const labels = new Map<IpAddress, Set<string>>()
    for (const ip of service.clusterIPs) labels.set(ip, new Set(['']))
    if (service.clusterIPs.length === 0 && service.type !== 'ExternalName') {
      for (const { ip, label, isNamed } of endpointHosts(
        service,
        this.#view.endpointSourcesOf(key),
      )) {
        if (isNamed) labels.getOrInsertComputed(ip, () => new Set()).add(label)
      }
    }
    const namespace = key.slice(0, key.indexOf('/'))
    this.#entries.set(key, { namespace, labels })
    this.#namespaces.set(namespace, (this.#namespaces.get(namespace) ?? 0) + 1)
    for (const ip of labels.keys()) this.#owners.getOrInsertComputed(ip, () => new Set()).add(key)
  }

  #remove(key: ServiceKey): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    const services = this.#namespaces.get(entry.namespace)! - 1
    if (services === 0) this.#namespaces.delete(entry.namespace)
    else this.#namespaces.set(entry.namespace, services)
    for (const ip of entry.labels.keys()) this.#disown(ip, key)
  }

  #disown(ip: IpAddress, key: ServiceKey): void {
    const owners = this.#owners.get(ip)
    owners?.delete(key)
    if (owners?.size === 0) this.#owners.delete(ip)
  }
}
