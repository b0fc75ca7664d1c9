import { type ClusterEvent, ClusterStore } from '../../cluster/cluster-store.ts'
import { addressOfReverseName } from '../../dns/zone/address-names.ts'
import { Zone } from '../../dns/zone/zone.ts'
import type { IpAddress } from '../../lib/ip.ts'
import { arrayAt, type Json, type JsonObject, stringAt, valueAt } from '../../lib/json.ts'
import { parseLegacyIp } from '../../lib/legacy-address.ts'
import { decodeEndpointSlice } from '../../resources/endpoint-slice.ts'
import { decodeEndpoints } from '../../resources/endpoints.ts'
import { isLabel, NAMES } from '../../resources/names.ts'
import { decodeService } from '../../resources/service.ts'
import type { Service, ServiceKey } from '../../resources/types.ts'
import { type ApiResource, collectionPath } from '../discovery/api-resource.ts'
import type { Api } from '../session/api.ts'
import { failureError } from '../session/call-failure.ts'
import { listPages, objectsOf, PAGE_SIZE } from '../session/list-pages.ts'
import { zoneNameOf } from './question.ts'

export interface ClusterObjectsOptions {
  readonly api: Api
  /** The resource of EndpointSlices, or of Endpoints if the server has no slices. */
  readonly endpoints: ApiResource
  /** `cluster.local` */
  readonly domain: string
  /** The addresses of the DNS server of the cluster, if known. */
  readonly serverAddresses: readonly IpAddress[]
}

/** Every namespace, as a key beside those of single ones. */
const EVERYWHERE = '*'

/**
 * The zone of the cluster as far as it has been read, with the permissions of the caller: the Services and endpoints on
 * which the names given to `load` depend.
 */
export class ClusterObjects {
  readonly zone: Zone
  readonly #options: ClusterObjectsOptions
  readonly #store = new ClusterStore()
  readonly #facts = new Map<string, readonly EndpointFact[]>()
  readonly #sources = new Map<ServiceKey, Set<string>>()
  readonly #services = new Map<string, Set<string>>()
  readonly #loaded = new Map<string, string>()
  readonly #problems: string[] = []

  constructor(options: ClusterObjectsOptions) {
    this.#options = options
    const { domain, serverAddresses } = options
    this.zone = new Zone(this.#store, { domain, serverAddresses, serial: 1 })
  }

  get domain(): string {
    return this.#options.domain
  }

  /** What is wrong with objects that were read, in sentences. */
  get problems(): readonly string[] {
    return this.#problems
  }

  service(key: ServiceKey): Service | undefined {
    return this.#store.service(key)
  }

  /** The names of the Services of a namespace, in order. */
  serviceNames(namespace: string): readonly string[] {
    return [...(this.#services.get(namespace) ?? [])].sort()
  }

  /** The addresses of the endpoints of a Service, ready or not. */
  factsOf(key: ServiceKey): readonly EndpointFact[] {
    return [...(this.#sources.get(key) ?? [])].flatMap((name) => this.#facts.get(name) ?? [])
  }

  /**
   * Reads, once, what the answers for a name depend on. @returns why that cannot be read, in a sentence; empty: it was
   * read. @throws NodeProxyError for a failure other than missing permissions
   */
  async load(name: string): Promise<string> {
    const part = zoneNameOf(name, this.domain)
    if (part.kind === 'outside') {
      if (addressOfReverseName(name) === undefined) return ''
      return (await this.#loadServices(EVERYWHERE)) || (await this.#loadEndpoints(EVERYWHERE, ''))
    }
    if (part.kind === 'zone' || !isLabel(part.namespace)) return ''
    const refusal = await this.#loadServices(part.namespace)
    if (refusal !== '' || part.kind === 'namespace') return refusal
    const service = this.service(part.key)
    if (service === undefined || service.type === 'ExternalName') return ''
    return this.#loadEndpoints(part.namespace, part.service)
  }

  #loadServices(namespace: string): Promise<string> {
    const path =
      namespace === EVERYWHERE ? '/api/v1/services' : `/api/v1/namespaces/${namespace}/services`
    return this.#readOnce(path, {}, (object) => this.#takeService(object))
  }

  /**
   * Loads the endpoints of a Service: the slices with one of the labels for its name, or its one v1 Endpoints object.
   */
  async #loadEndpoints(namespace: string, service: string): Promise<string> {
    const { endpoints } = this.#options
    const path = collectionPath(endpoints, namespace === EVERYWHERE ? undefined : namespace)
    const take = (object: JsonObject): void => this.#takeEndpoints(object)
    if (namespace === EVERYWHERE) return this.#readOnce(path, {}, take)
    if (endpoints.kind === 'Endpoints') {
      return this.#readOnce(path, { fieldSelector: `metadata.name=${service}` }, take)
    }
    const refusals = NAMES.serviceOfSlice.map((label) =>
      this.#readOnce(path, { labelSelector: `${label}=${service}` }, take),
    )
    return (await Promise.all(refusals)).find((refusal) => refusal !== '') ?? ''
  }

  async #readOnce(
    path: string,
    query: Readonly<Record<string, string>>,
    take: (object: JsonObject) => void,
  ): Promise<string> {
    const key = `${path} ${JSON.stringify(query)}`
    const known = this.#loaded.get(key)
    if (known !== undefined) return known
    const result = await listPages(this.#options.api, { path, query }, PAGE_SIZE)
    if (!result.ok && result.failure.code !== 403) throw failureError(result.failure)
    const refusal = result.ok ? '' : result.failure.message
    if (result.ok) for (const object of result.pages.flatMap(objectsOf)) take(object)
    this.#loaded.set(key, refusal)
    return refusal
  }

  #takeService(object: JsonObject): void {
    const decoded = decodeService(object)
    if (!decoded.ok) return this.#refuse(object, decoded.problems[0]?.message)
    const { key } = decoded.value
    const [namespace = '', name = ''] = key.split('/')
    this.#services.getOrInsertComputed(namespace, () => new Set()).add(name)
    this.#apply({ kind: 'service', key, value: decoded.value })
  }

  #takeEndpoints(object: JsonObject): void {
    const decoded =
      object['kind'] === 'Endpoints'
        ? decodeEndpoints(object, { includeHeadless: true })
        : decodeEndpointSlice(object, { includeHeadless: true })
    if (!decoded.ok) return this.#refuse(object, decoded.problems[0]?.message)
    const source = decoded.value
    if (source === undefined) return
    this.#sources.getOrInsertComputed(source.service, () => new Set()).add(source.name)
    this.#facts.set(source.name, endpointFacts(object))
    this.#apply({ kind: 'endpoints', name: source.name, value: source })
  }

  #apply(event: ClusterEvent): void {
    this.zone.update(this.#store.apply([event]).services)
  }

  #refuse(object: JsonObject, message = 'it cannot be read'): void {
    const [kind, namespace, name] = [['kind'], ['metadata', 'namespace'], ['metadata', 'name']].map(
      (path) => stringAt(object, ...path),
    )
    this.#problems.push(`${kind} ${namespace}/${name} is left out: ${message}`)
  }
}

/** One address of endpoints, with the place where it is written and the Pod that has it. */
export interface EndpointFact {
  readonly kind: 'EndpointSlice' | 'Endpoints'
  /** `namespace/name` of the object. */
  readonly name: string
  /** `endpoints[2]`, `subsets[0].notReadyAddresses[1]` */
  readonly field: string
  readonly ip: IpAddress
  readonly hostname: string
  /** `namespace/name`; empty: the address does not belong to a Pod. */
  readonly pod: string
  readonly isReady: boolean
  readonly isTerminating: boolean
}

/** The addresses of an EndpointSlice, or of v1 Endpoints. */
function endpointFacts(object: JsonObject): readonly EndpointFact[] {
  const metadata = (field: string): string => stringAt(object, 'metadata', field)
  const name = `${metadata('namespace')}/${metadata('name')}`
  if (stringAt(object, 'kind') === 'Endpoints') return factsOfSubsets(object, name)
  return arrayAt(object, 'endpoints').flatMap((endpoint, index) => {
    const [address] = arrayAt(endpoint, 'addresses')
    const condition = (key: string): Json | undefined => valueAt(endpoint, 'conditions', key)
    return factOf(address, endpoint, {
      kind: 'EndpointSlice',
      name,
      field: `endpoints[${index}]`,
      isReady: condition('ready') !== false,
      isTerminating: condition('terminating') === true,
    })
  })
}

function factsOfSubsets(object: JsonObject, name: string): readonly EndpointFact[] {
  return arrayAt(object, 'subsets').flatMap((subset, at) =>
    (['addresses', 'notReadyAddresses'] as const).flatMap((list) =>
      arrayAt(subset, list).flatMap((address, index) =>
        factOf(valueAt(address, 'ip'), address, {
          kind: 'Endpoints',
          name,
          field: `subsets[${at}].${list}[${index}]`,
          isReady: list === 'addresses',
          isTerminating: false,
        }),
      ),
    ),
  )
}

type FactOrigin = Omit<EndpointFact, 'ip' | 'hostname' | 'pod'>

function factOf(
  address: Json | undefined,
  endpoint: Json,
  origin: FactOrigin,
): readonly EndpointFact[] {
  const ip = typeof address === 'string' ? parseLegacyIp(address) : undefined
  if (ip === undefined) return []
  const target = (field: string): string => stringAt(endpoint, 'targetRef', field)
  const namespace = target('namespace') || origin.name.slice(0, origin.name.indexOf('/'))
  const pod = target('kind') === 'Pod' ? `${namespace}/${target('name')}` : ''
  return [{ ...origin, ip, hostname: stringAt(endpoint, 'hostname'), pod }]
}
