import { timestamp } from '../../lib/duration.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { parseIp } from '../../lib/ip.ts'
import { type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import { SERVICE_NAME, SKIP_MIRROR } from '../../resources/label-names.ts'
import { API_SERVICE_NAMESPACE } from '../../resources/pod-environment.ts'
import type { Operation } from '../../storage/store.ts'
import { addressKey, allocationFor } from '../allocation/allocation-keys.ts'
import { unreadableAt } from '../cache/unreadable.ts'
import type { ServerContext } from '../context/server-context.ts'
import { decodeStored, encodeStored } from '../encoding/codec.ts'
import { endpointSlices } from '../kinds/endpoint-slice.ts'
import { endpoints } from '../kinds/endpoints.ts'
import { releaseOperations } from '../kinds/service/held-keys.ts'
import { services } from '../kinds/service/resource.ts'
import type { ApiRequest } from '../request/api-request.ts'
import { type Resource, storageKey, storagePrefix } from '../resource/resource.ts'
import { StatusError } from '../status/status.ts'
import { discard } from '../verbs/discard-unreadable.ts'
import { deleteUnchanged } from '../verbs/persist.ts'
import { readNewest } from '../verbs/read-newest.ts'
import { type ApiService, apiServicesOf, type ReplicaAddress } from './api-services.ts'
import {
  type BackgroundContext,
  type DesiredObject,
  ensureObject,
  systemRequest,
} from './system-request.ts'

/** Fields of a Service that a correction leaves unchanged; the server sets the rest of the spec. */
const KEPT = ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy', 'internalTrafficPolicy']

/** The resources that the API's own Services are made of. */
export const API_SERVICE_RESOURCES: readonly Resource[] = [services, endpoints, endpointSlices]

/** Writes the Services of the API and their endpoints, and detects changes by other writers. */
export class ApiServiceReconciler {
  readonly #context: BackgroundContext
  readonly #apiServices: readonly ApiService[]
  /**
   * The Services that this server has seen in its range. If the ranges of replicas differ, another replica may
   * move such a Service out of the range; this server then leaves it there.
   */
  readonly #seenInRange = new Set<string>()
  /** The revisions of the objects as this server wrote them, by storage key. */
  readonly #written = new Map<string, number>()

  constructor(context: BackgroundContext) {
    this.#context = context
    const [range] = context.allocator.ranges
    this.#apiServices = range === undefined ? [] : apiServicesOf(range)
  }

  /** Whether another writer has changed or deleted one of the objects since this server wrote them. */
  get isChangedByOthers(): boolean {
    return [...this.#written].some(([key, revision]) => {
      const resource = API_SERVICE_RESOURCES.find((one) => key.startsWith(storagePrefix(one)))!
      const cache = this.#context.feed.cache(resource)
      // The cache may not have the write yet; if it is newer and has no such object, the object was deleted.
      return (cache.get(key)?.revision ?? cache.revision) > revision
    })
  }

  /**
   * Makes the Services point at these servers only.
   * @throws NP_APISERVER_MASTER_SERVICE for the first Service that could not be written, after the other
   * Services were written
   */
  async reconcile(replicas: readonly ReplicaAddress[]): Promise<void> {
    this.#written.clear()
    const failures: NodeProxyError[] = []
    const misplaced: string[] = []
    const complete = new Set<string>()
    for (const apiService of this.#apiServices) {
      const { name } = apiService
      // A Service that cannot move keeps its address, which works only with the present endpoints.
      const moveFailure = await this.#moveOnce(apiService)
      const writeFailure = await this.#ensure(desiredObjects(apiService, replicas))
      failures.push(...[moveFailure, writeFailure].filter((one) => one !== undefined))
      if (writeFailure === undefined) complete.add(name)
      const ip = await misplacedAddress(this.#context, apiService)
      if (ip !== undefined) misplaced.push(`${name} at ${ip}`)
    }
    this.#reportMisplaced(misplaced)
    await this.#removeOtherSlices(complete)
    if (failures[0] !== undefined) throw failures[0]
  }

  /**
   * Moves a Service into the range, once after the start: the range cannot change while the server runs.
   * @returns why the Service cannot move; undefined: it is in the range, or the next call tries again
   */
  async #moveOnce(apiService: ApiService): Promise<NodeProxyError | undefined> {
    if (this.#seenInRange.has(apiService.name)) return undefined
    const isMisplaced = (await misplacedAddress(this.#context, apiService)) !== undefined
    try {
      const isInRange = !isMisplaced || (await moveIntoRange(this.#context, apiService))
      if (isInRange) this.#seenInRange.add(apiService.name)
      return undefined
    } catch (error) {
      const isTaken =
        error instanceof NodeProxyError && error.code === 'NP_APISERVER_MASTER_SERVICE'
      if (isTaken) return error
      throw error
    }
  }

  #reportMisplaced(misplaced: readonly string[]): void {
    const { allocator, conditions } = this.#context
    const reason = 'api-service-address'
    if (misplaced.length === 0) return conditions.clear(reason)
    const message = `the Services of the API are not at the first addresses of --service-cluster-ip-range ${allocator.described.address}: ${misplaced.join(', ')}; the certificate of this server does not name these addresses: start all replicas with the same range, or free the first addresses of this one`
    conditions.raise(reason, { message, blocksReadiness: false })
  }

  /** Removes an unreadable object, so that it is created again. */
  async #discardUnreadable({ resource, ...at }: DesiredObject): Promise<void> {
    const unreadable = unreadableAt(this.#context, resource, at)
    if (unreadable !== undefined) await discard(this.#context, resource, unreadable)
  }

  /** Stops at the first failure: endpoints are useless without their Service. */
  async #ensure(objects: readonly DesiredObject[]): Promise<NodeProxyError | undefined> {
    for (const object of objects) {
      await this.#discardUnreadable(object)
      const written = await ensureObject(this.#context, object)
      if (written instanceof StatusError) return refusedError(object, written)
      const key = storageKey(object.resource, object.namespace, object.name)
      this.#written.set(key, written.modRevision)
    }
    return undefined
  }

  /**
   * Removes slices with ports that no server has, and slices of other writers, which would lead Pods elsewhere.
   * @param complete the Services whose objects were all written: of others, slices that were not written may be needed
   */
  async #removeOtherSlices(complete: ReadonlySet<string>): Promise<void> {
    const { feed, store } = this.#context
    const prefix = storagePrefix(endpointSlices, API_SERVICE_NAMESPACE)
    for (const { key, revision, labels } of feed.cache(endpointSlices).under(prefix)) {
      if (!complete.has(labels[SERVICE_NAME] ?? '') || this.#written.has(key)) continue
      await deleteUnchanged(store, key, revision)
    }
  }
}

function refusedError({ namespace, name }: DesiredObject, { status }: StatusError): NodeProxyError {
  return new NodeProxyError(
    'NP_APISERVER_MASTER_SERVICE',
    `the Service of the API could not be written: ${status.message}`,
    {
      object: `${namespace}/${name}`,
      hint: 'if its address is taken, delete the Service that has it; the write is retried every 10 s',
    },
  )
}

/** One Service of the API, its Endpoints and its EndpointSlices (one for each port), for these replicas. */
function desiredObjects(
  apiService: ApiService,
  replicas: readonly ReplicaAddress[],
): readonly DesiredObject[] {
  const { name, family } = apiService
  const byPort = Map.groupBy(replicas, ({ port }) => port)
  const groups = [...byPort].toSorted(([a], [b]) => a - b)
  const at = { namespace: API_SERVICE_NAMESPACE, name }
  return [
    { ...at, resource: services, next: (old) => serviceOf(apiService, groups[0]?.[0], old) },
    { ...at, resource: endpoints, next: (old) => endpointsOf(groups, old) },
    ...groups.map(([port, members], index) => ({
      ...at,
      name: index === 0 ? name : `${name}-${port}`,
      resource: endpointSlices,
      next: (old: JsonObject) => ({
        metadata: labelled(old, { [SERVICE_NAME]: name }),
        addressType: `IPv${family}`,
        ports: [portOf(port)],
        endpoints: members.map(({ ip }) => ({ addresses: [ip], conditions: { ready: true } })),
      }),
    })),
  ]
}

function serviceOf(
  { name, ip }: ApiService,
  port: number | undefined,
  old: JsonObject,
): JsonObject {
  const hasAddress = stringAt(old, 'spec', 'clusterIP') !== ''
  const oldSpec = Object.entries(objectAt(old, 'spec'))
  const kept = Object.fromEntries(oldSpec.filter(([field]) => KEPT.includes(field)))
  const assigned = { clusterIP: ip, clusterIPs: [ip], ipFamilyPolicy: 'SingleStack' }
  const targetPort = port ?? 'https'
  return {
    ...old,
    metadata: labelled(old, { component: 'apiserver', provider: name }),
    spec: {
      ...(hasAddress ? kept : assigned),
      type: 'ClusterIP',
      sessionAffinity: 'None',
      ports: [{ name: 'https', protocol: 'TCP', port: 443, targetPort }],
    },
  }
}

/** The Endpoints have a label that prevents mirroring, because the server writes the slices itself. */
function endpointsOf(
  groups: readonly (readonly [port: number, members: readonly ReplicaAddress[]])[],
  old: JsonObject,
): JsonObject {
  const subsets = groups.map(([port, members]) => ({
    addresses: members.map(({ ip }) => ({ ip })),
    ports: [portOf(port)],
  }))
  const metadata = labelled(old, { [SKIP_MIRROR]: 'true' })
  return { metadata, ...(subsets.length > 0 ? { subsets } : {}) }
}

function portOf(port: number): JsonObject {
  return { name: 'https', port, protocol: 'TCP' }
}

function labelled(old: JsonObject, labels: JsonObject): JsonObject {
  const metadata = objectAt(old, 'metadata')
  return { ...metadata, labels: { ...objectAt(metadata, 'labels'), ...labels } }
}

/**
 * The ClusterIP of a Service of the API, if it differs from the one that this server gives it;
 * the certificate of this server does not name it.
 */
async function misplacedAddress(
  context: ServerContext,
  { name, ip }: ApiService,
): Promise<string | undefined> {
  const found = await readNewest(context, requestFor(context, name))
  if (found === undefined || found instanceof StatusError) return undefined
  const present = parseIp(stringAt(decodeStored(found), 'spec', 'clusterIP'))
  return present === ip ? undefined : present
}

/**
 * Replaces a Service of the API by one with its address in the range. A ClusterIP is immutable,
 * so the new Service has another uid. One transaction replaces the old one: no replica finds it
 * missing and creates it again with the old address.
 * @returns false when another writer changed the Service meanwhile: the caller tries again
 * @throws NP_APISERVER_MASTER_SERVICE when another Service has the address; the old Service stays
 */
async function moveIntoRange(context: ServerContext, apiService: ApiService): Promise<boolean> {
  const { store, log } = context
  const request = requestFor(context, apiService.name)
  const before = await readNewest(context, request)
  if (before === undefined || before instanceof StatusError) return true
  const old = decodeStored(before)
  const key = storageKey(services, API_SERVICE_NAMESPACE, apiService.name)
  const address = addressKey(apiService.ip)
  const value = encodeStored(movedService(context, old, apiService))
  const operations: readonly Operation[] = [
    { op: 'put', key, value },
    { op: 'put', key: address, value: allocationFor(key) },
    ...(await releaseOperations(store, key, old)),
  ]
  const compare = [
    { key, modRevision: before.modRevision },
    { key: address, modRevision: 0 },
  ]
  const result = await store.txn({ compare, operations })
  if (!result.committed && result.current[1] !== undefined) throw takenError(apiService)
  if (!result.committed) return false
  const from = stringAt(old, 'spec', 'clusterIP')
  const fields = { service: `${API_SERVICE_NAMESPACE}/${apiService.name}`, from, to: apiService.ip }
  log.warn(fields, 'a Service of the API moves into the changed range of ClusterIPs')
  return true
}

function movedService(
  { clock, random }: ServerContext,
  old: JsonObject,
  { ip, family }: ApiService,
): JsonObject {
  const metadata = {
    ...objectAt(old, 'metadata'),
    uid: random.uuid(),
    creationTimestamp: timestamp(clock.now()),
  }
  const addresses = { clusterIP: ip, clusterIPs: [ip], ipFamilies: [`IPv${family}`] }
  const spec = { ...objectAt(old, 'spec'), ...addresses, ipFamilyPolicy: 'SingleStack' }
  return { ...old, metadata, spec }
}

function takenError({ name, ip }: ApiService): NodeProxyError {
  return new NodeProxyError(
    'NP_APISERVER_MASTER_SERVICE',
    `the Service of the API cannot move into the changed range: its address ${ip} belongs to another Service`,
    {
      object: `${API_SERVICE_NAMESPACE}/${name}`,
      hint: 'delete the Service that has the address; the move is retried every 10 s, and the old address works until then',
    },
  )
}

function requestFor(context: ServerContext, name: string): ApiRequest {
  return systemRequest(context, {
    method: 'PUT',
    resource: services,
    namespace: API_SERVICE_NAMESPACE,
    name,
  })
}
