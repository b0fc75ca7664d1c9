import type { IpAddress } from '../../lib/ip.ts'
import type { ServiceKey } from '../../resources/types.ts'
import { type EndpointHost, endpointHosts } from './endpoint-hosts.ts'
import type { ZoneView } from './zone-view.ts'

/** Labels of endpoints by address; the empty label stands for the Service. */
type Labels = ReadonlyMap<IpAddress, ReadonlySet<string>>

/** What one Service adds to the index. */
interface Entry {
  readonly namespace: string
  /** Its addresses that have names. */
  readonly ips: readonly IpAddress[]
  /** Of a headless Service; undefined: its addresses have its own name. */
  readonly labels: Labels | undefined
}

const OWN_NAME: ReadonlySet<string> = new Set([''])

/** What a zone cannot look up by the name of a Service: namespaces with Services, and names of addresses. */
export class ZoneIndex {
  readonly #view: ZoneView
  readonly #entries = new Map<ServiceKey, Entry>()
  readonly #namespaces = new Map<string, number>()
  /** Arrays, because nearly every address has one owner, and a set costs ten times its memory. */
  readonly #owners = new Map<IpAddress, readonly ServiceKey[]>()

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
    const names = (this.#owners.get(ip) ?? []).flatMap((key) => {
      const [namespace, service] = key.split('/')
      return [...this.#labelsOf(key, ip)].map(
        (label) => `${label && `${label}.`}${service}.${namespace}.svc`,
      )
    })
    return names.toSorted()
  }

  #labelsOf(key: ServiceKey, ip: IpAddress): Iterable<string> {
    const entry = this.#entries.get(key)
    if (entry === undefined) return []
    return entry.labels === undefined ? OWN_NAME : (entry.labels.get(ip) ?? [])
  }

  #add(key: ServiceKey): void {
    const service = this.#view.service(key)
    if (service === undefined) return
    const isHeadless = service.clusterIPs.length === 0 && service.type !== 'ExternalName'
    const labels = isHeadless
      ? labelsOf(endpointHosts(service, this.#view.endpointSourcesOf(key)))
      : undefined
    const ips = labels === undefined ? service.clusterIPs : [...labels.keys()]
    const namespace = key.slice(0, key.indexOf('/'))
    this.#entries.set(key, { namespace, ips, labels })
    this.#namespaces.set(namespace, (this.#namespaces.get(namespace) ?? 0) + 1)
    for (const ip of ips) this.#owners.set(ip, [...(this.#owners.get(ip) ?? []), key])
  }

  #remove(key: ServiceKey): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    const services = this.#namespaces.get(entry.namespace)! - 1
    if (services === 0) this.#namespaces.delete(entry.namespace)
    else this.#namespaces.set(entry.namespace, services)
    for (const ip of entry.ips) this.#disown(ip, key)
  }

  #disown(ip: IpAddress, key: ServiceKey): void {
    const owners = (this.#owners.get(ip) ?? []).filter((owner) => owner !== key)
    if (owners.length === 0) this.#owners.delete(ip)
    else this.#owners.set(ip, owners)
  }
}

function labelsOf(hosts: Iterable<EndpointHost>): Labels {
  const labels = new Map<IpAddress, Set<string>>()
  for (const { ip, label, isNamed } of hosts) {
    if (isNamed) labels.getOrInsertComputed(ip, () => new Set()).add(label)
  }
  return labels
}
