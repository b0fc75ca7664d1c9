import type { IpAddress } from '../../lib/ip.ts'
import type { ServiceKey } from '../../resources/types.ts'
import { addressOfReverseName, addressRecord, addressType } from './address-names.ts'
import { RECORD_TTL, type ZoneRecord, type ZoneView } from './record.ts'
import { type EndpointHost, endpointHosts, serviceAnswer } from './service-answer.ts'
import { EMPTY, FOREIGN, foundOrEmpty, MISSING, type ZoneAnswer } from './zone-answer.ts'

/** The labels of an address whose name is that of the Service itself. */
const OWN_NAME: ReadonlySet<string> = new Set([''])

/** The version of the Kubernetes DNS specification that the zone implements. */
const SPECIFICATION = '1.1.0'
const VERSION_TTL = 28_800
const SOA_TIMES = { refresh: 7200, retry: 1800, expire: 86_400 } as const
/** The maximum number of CNAME records that are followed inside the zone for one answer. */
const MAX_CHAIN = 8

export interface ZoneOptions {
  /** Lower case, without the final dot: `cluster.local`. */
  readonly domain: string
  /** The addresses at which clients reach the server, and the records of `ns.dns.<domain>`; empty if unknown. */
  readonly serverAddresses: readonly IpAddress[]
  /** Serial number of the zone at the start; each update adds one. */
  readonly serial: number
}

/**
 * The zone of the cluster domain: the names of Services and their endpoints, and the reverse names of their addresses.
 * Answers are computed when they are requested. Only `ZoneIndex` is kept up to date, so the cost of a change is
 * proportional to what it affects.
 */
export class Zone {
  readonly domain: string
  readonly #options: ZoneOptions
  readonly #view: ZoneView
  readonly #index: ZoneIndex
  #serial: number

  constructor(view: ZoneView, options: ZoneOptions) {
    this.domain = options.domain
    this.#options = options
    this.#view = view
    this.#index = new ZoneIndex(view)
    this.#serial = options.serial
  }

  /** The current serial number of the zone, an unsigned integer of 32 bits. */
  get serial(): number {
    return this.#serial
  }

  /** Updates the index for Services that changed in the view, and increments the serial number. */
  update(changed: ReadonlySet<ServiceKey>): void {
    if (changed.size === 0) return
    this.#index.update(changed)
    this.#serial = (this.#serial + 1) >>> 0
  }

  /** The answer for a name (lower case, without the final dot) and a record type such as `A`. */
  answer(name: string, type: string): ZoneAnswer {
    if (type === 'ANY') return this.#anyAnswer(name)
    const found = this.#answerAt(name, type)
    if (found.kind !== 'found' || found.target === undefined) return found
    if (type === 'CNAME') return foundOrEmpty(found.answers, [], found.service)
    return this.#follow(name, type, [...found.answers])
  }

  /** The SOA record of the zone. Negative answers carry it, too. */
  startOfAuthority(): ZoneRecord {
    return {
      name: this.domain,
      type: 'SOA',
      ttl: RECORD_TTL,
      data: {
        mname: `ns.dns.${this.domain}`,
        rname: `hostmaster.${this.domain}`,
        serial: this.#serial,
        ...SOA_TIMES,
        minimum: RECORD_TTL,
      },
    }
  }

  /** The answer for the type ANY: one HINFO record if the name exists (RFC 8482). */
  #anyAnswer(name: string): ZoneAnswer {
    const { kind } = this.#answerAt(name, 'A')
    if (kind === 'missing') return MISSING
    if (kind === 'foreign') return FOREIGN
    const data = { cpu: 'RFC8482', os: '' }
    return foundOrEmpty([{ name, type: 'HINFO', ttl: RECORD_TTL, data }])
  }

  /** Follows CNAME records of ExternalName Services; `target` is the name at which the chain leaves the zone. */
  #follow(start: string, type: string, answers: ZoneRecord[]): ZoneAnswer {
    const names = new Set([start])
    for (;;) {
      const last = answers.at(-1)!
      const target = last.type === 'CNAME' ? last.data : ''
      const chain = { kind: 'found', answers, additionals: [], service: undefined } as const
      if (names.has(target) || names.size > MAX_CHAIN) return chain
      names.add(target)
      const next = this.#answerAt(target, type)
      if (next.kind === 'foreign') return { ...chain, target }
      if (next.kind !== 'found') return { ...chain, denied: next.kind }
      answers.push(...next.answers)
      if (next.target === undefined) return { ...chain, additionals: next.additionals }
    }
  }

  /** What the zone holds at a name itself; a CNAME record is not followed. */
  #answerAt(name: string, type: string): ZoneAnswer {
    if (name === this.domain) return this.#apexAnswer(type)
    if (!name.endsWith(`.${this.domain}`)) return this.#reverseAnswer(name, type)
    const labels = name.slice(0, -this.domain.length - 1).split('.')
    const branch = labels.pop()
    if (branch === 'svc') return this.#servicesAnswer(name, labels, type)
    if (branch === 'dns') return this.#serverAnswer(labels, type)
    if (labels.length > 0) return MISSING
    if (branch === 'pod') return EMPTY
    return branch === 'dns-version' ? this.#versionAnswer(name, type) : MISSING
  }

  #apexAnswer(type: string): ZoneAnswer {
    if (type === 'SOA') return foundOrEmpty([this.startOfAuthority()])
    if (type !== 'NS') return EMPTY
    const data = `ns.dns.${this.domain}`
    return foundOrEmpty(
      [{ name: this.domain, type, ttl: RECORD_TTL, data }],
      this.#options.serverAddresses.map((ip) => addressRecord(data, ip)),
    )
  }

  #serverAnswer(labels: readonly string[], type: string): ZoneAnswer {
    if (labels.length === 0) return EMPTY
    if (labels.length > 1 || labels[0] !== 'ns') return MISSING
    const queried = this.#options.serverAddresses.filter((ip) => addressType(ip) === type)
    return foundOrEmpty(queried.map((ip) => addressRecord(`ns.dns.${this.domain}`, ip)))
  }

  #versionAnswer(name: string, type: string): ZoneAnswer {
    return type === 'TXT'
      ? foundOrEmpty([{ name, type, ttl: VERSION_TTL, data: [SPECIFICATION] }])
      : EMPTY
  }

  /** `labels`: the labels of the name before `svc`. */
  #servicesAnswer(name: string, labels: readonly string[], type: string): ZoneAnswer {
    const namespace = labels.at(-1)
    if (namespace === undefined) return EMPTY
    const service = labels.at(-2)
    if (service === undefined) return this.#index.hasNamespace(namespace) ? EMPTY : MISSING
    return serviceAnswer(this.#view, {
      name,
      type,
      below: labels.slice(0, -2),
      key: `${namespace}/${service}` as ServiceKey,
      serviceName: `${service}.${namespace}.svc.${this.domain}`,
    })
  }

  /** The answer for a name outside the domain. Only reverse names of addresses in the index belong to this zone. */
  #reverseAnswer(name: string, type: string): ZoneAnswer {
    const ip = addressOfReverseName(name)
    const names = ip === undefined ? [] : this.#index.namesOf(ip)
    if (names.length === 0) return FOREIGN
    if (type !== 'PTR') return EMPTY
    return foundOrEmpty(
      names.map((one) => ({ name, type, ttl: RECORD_TTL, data: `${one}.${this.domain}` })),
    )
  }
}

/** The hostnames of endpoints, by address. */
type Labels = ReadonlyMap<IpAddress, ReadonlySet<string>>

/** What one Service adds to the index. */
interface Entry {
  readonly namespace: string
  /** The addresses for which it adds reverse names. */
  readonly ips: readonly IpAddress[]
  /** The hostnames below a headless Service; undefined for others, whose addresses have the Service's own name. */
  readonly labels: Labels | undefined
}

/** An index of what cannot be looked up by the name of a Service: namespaces with Services, and names of addresses. */
class ZoneIndex {
  readonly #view: ZoneView
  readonly #entries = new Map<ServiceKey, Entry>()
  readonly #namespaces = new Map<string, number>()
  /** Services by address. Arrays, because nearly every address has one, and a set takes ten times the memory. */
  readonly #owners = new Map<IpAddress, readonly ServiceKey[]>()

  constructor(view: ZoneView) {
    this.#view = view
  }

  /** Reads the changed Services again. */
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

  /** The names of an address, relative to the zone and sorted: `db-0.db.shop.svc`, `web.shop.svc`. */
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
