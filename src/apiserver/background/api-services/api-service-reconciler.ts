import { NodeProxyError } from '../../../lib/error.ts'
import { SERVICE_NAME } from '../../../resources/label-names.ts'
import { API_SERVICE_NAMESPACE } from '../../../resources/pod-environment.ts'
import { unreadableAt } from '../../cache/unreadable.ts'
import { endpointSlices } from '../../kinds/endpoint-slice/resource.ts'
import { endpoints } from '../../kinds/endpoints/resource.ts'
import { services } from '../../kinds/service/resource.ts'
import { deleteUnchanged } from '../../persist/delete-unchanged.ts'
import { type Resource, storageKey, storagePrefix } from '../../resource/resource.ts'
import { StatusError } from '../../status/status.ts'
import { discard } from '../../verbs/discard-unreadable.ts'
import type { BackgroundContext } from '../background-context.ts'
import { type DesiredObject, ensureObject } from '../ensure-object.ts'
import { type ApiService, apiServicesOf } from './api-services.ts'
import { desiredObjects } from './desired-objects.ts'
import { misplacedAddress, moveIntoRange } from './move-into-range.ts'
import type { ReplicaAddress } from './replica-address.ts'

/** The resources that the API's own Services are made of. */
export const API_SERVICE_RESOURCES: readonly Resource[] = [services, endpoints, endpointSlices]

/** Writes the Services of the API and their endpoints, and detects changes by other writers. */
export class ApiServiceReconciler {
  readonly #context: BackgroundContext
  readonly #apiServices: readonly ApiService[]
  /**
   * The Services that this server has seen in its range. With replicas whose ranges differ,
   * another replica moves such a Service out of the range, and this server leaves it there.
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
      return (cache.get(key)?.revision ?? cache.revision) > revision
    })
  }

  /**
   * Makes the Services point at these servers only.
   * @throws NP_APISERVER_MASTER_SERVICE for the first Service that could not be written, after the others were
   */
  async reconcile(replicas: readonly ReplicaAddress[]): Promise<void> {
    this.#written.clear()
    const failures: NodeProxyError[] = []
    const misplaced: string[] = []
    for (const apiService of this.#apiServices) {
      const failure =
        (await this.#moveOnce(apiService)) ??
        (await this.#ensure(desiredObjects(apiService, replicas)))
      if (failure !== undefined) failures.push(failure)
      const ip = await misplacedAddress(this.#context, apiService)
      if (ip !== undefined) misplaced.push(`${apiService.name} at ${ip}`)
    }
    this.#reportMisplaced(misplaced)
    await this.#removeOtherSlices()
    if (failures[0] !== undefined) throw failures[0]
  }

  /** Moves a Service into the range once after the start: the range changes only between two starts. */
  async #moveOnce(apiService: ApiService): Promise<NodeProxyError | undefined> {
    if (this.#seenInRange.has(apiService.name)) return undefined
    const isMisplaced = (await misplacedAddress(this.#context, apiService)) !== undefined
    const isDone =
      !isMisplaced || (await moveIntoRange(this.#context, apiService).catch(asApiServiceError))
    if (isDone instanceof NodeProxyError) return isDone
    if (isDone) this.#seenInRange.add(apiService.name)
    return undefined
  }

  #reportMisplaced(misplaced: readonly string[]): void {
    const { allocator, conditions } = this.#context
    const reason = 'api-service-address'
    if (misplaced.length === 0) return conditions.clear(reason)
    const message = `the Services of the API are not at the first addresses of --service-cluster-ip-range ${allocator.described.address}: ${misplaced.join(', ')}; the certificate of this server does not name these addresses: start all replicas with the same range, or free the first addresses of this one`
    conditions.raise(reason, { message, blocksReadiness: false })
  }

  /** Removes an unreadable object, so that it is created anew. */
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

  /** Removes slices of ports that no server has, and slices of other writers, which would divert Pods. */
  async #removeOtherSlices(): Promise<void> {
    const { feed, store } = this.#context
    const names = new Set(this.#apiServices.map(({ name }) => name))
    const prefix = storagePrefix(endpointSlices, API_SERVICE_NAMESPACE)
    for (const { key, revision, labels } of feed.cache(endpointSlices).under(prefix)) {
      if (!names.has(labels[SERVICE_NAME] ?? '') || this.#written.has(key)) continue
      await deleteUnchanged(store, key, revision)
    }
  }
}

function asApiServiceError(error: unknown): NodeProxyError {
  if (error instanceof NodeProxyError && error.code === 'NP_APISERVER_MASTER_SERVICE') return error
  throw error
}

function refusedError({ namespace, name }: DesiredObject, { status }: StatusError): NodeProxyError {
  return new NodeProxyError(
    'NP_APISERVER_MASTER_SERVICE',
    `the Service of the API cannot be kept: ${status.message}`,
    {
      object: `${namespace}/${name}`,
      hint: 'if its address is taken, delete the Service that has it; it is tried again every 10 s',
    },
  )
}
