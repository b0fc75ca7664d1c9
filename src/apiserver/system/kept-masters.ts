import { NodeProxyError } from '../../lib/error.ts'
import { SERVICE_NAME } from '../../resources/label-names.ts'
import { MASTER_NAMESPACE } from '../../resources/pod-environment.ts'
import { unreadableAt } from '../cache/unreadable.ts'
import type { ServerContext } from '../context/server-context.ts'
import { endpointSlices } from '../kinds/endpoint-slice.ts'
import { endpoints } from '../kinds/endpoints.ts'
import { services } from '../kinds/service.ts'
import { deleteUnchanged } from '../persist/delete-unchanged.ts'
import { type Resource, storageKey, storagePrefix } from '../resource/resource.ts'
import { StatusError } from '../status/status.ts'
import { discard } from '../verbs/discard-unreadable.ts'
import { ensureObject, type KeptObject } from './ensure-object.ts'
import { masterObjects } from './master-objects.ts'
import { type Master, mastersOf } from './masters.ts'
import { replaceStray, strayAddress } from './move-master.ts'
import type { ReplicaAddress } from './replica-address.ts'

/** The resources that the API's own Services are made of. */
export const MASTER_RESOURCES: readonly Resource[] = [services, endpoints, endpointSlices]

/** The Services of the API and their endpoints, as this server left them in the store. */
export class KeptMasters {
  readonly #context: ServerContext
  readonly #masters: readonly Master[]
  /**
   * The Services that this server has once seen in its range. With replicas whose ranges
   * differ, one that left it again is theirs: nobody moves it back and forth.
   */
  readonly #settled = new Set<string>()
  /** The revisions in which we left our objects, by storage key. */
  readonly #written = new Map<string, number>()

  constructor(context: ServerContext) {
    this.#context = context
    const [range] = context.allocator.ranges
    this.#masters = range === undefined ? [] : mastersOf(range)
  }

  /** Whether somebody else has changed or deleted one of them since. */
  get isTampered(): boolean {
    return [...this.#written].some(([key, revision]) => {
      const resource = MASTER_RESOURCES.find((one) => key.startsWith(storagePrefix(one)))!
      const cache = this.#context.feed.cache(resource)
      return (cache.get(key)?.revision ?? cache.revision) > revision
    })
  }

  /**
   * Makes them lead to these servers, and to nobody else.
   * @throws NP_APISERVER_MASTER_SERVICE for the first that is refused, after the others
   */
  async leadTo(replicas: readonly ReplicaAddress[]): Promise<void> {
    this.#written.clear()
    const failures: NodeProxyError[] = []
    const stray: string[] = []
    for (const master of this.#masters) {
      const failure =
        (await this.#moveIn(master)) ?? (await this.#ensure(masterObjects(master, replicas)))
      if (failure !== undefined) failures.push(failure)
      const ip = await strayAddress(this.#context, master)
      if (ip !== undefined) stray.push(`${master.name} at ${ip}`)
    }
    this.#report(stray)
    await this.#removeOtherSlices()
    if (failures[0] !== undefined) throw failures[0]
  }

  /** Once in the life of a server its range may have been changed: at its start. */
  async #moveIn(master: Master): Promise<NodeProxyError | undefined> {
    if (this.#settled.has(master.name)) return undefined
    const isStray = (await strayAddress(this.#context, master)) !== undefined
    const isDone = !isStray || (await replaceStray(this.#context, master).catch(asMasterError))
    if (isDone instanceof NodeProxyError) return isDone
    if (isDone) this.#settled.add(master.name)
    return undefined
  }

  #report(stray: readonly string[]): void {
    const { allocator, conditions } = this.#context
    const reason = 'api-service-address'
    if (stray.length === 0) return conditions.clear(reason)
    const message = `the Services of the API are not at the first addresses of --service-cluster-ip-range ${allocator.described.address}: ${stray.join(', ')}; the certificate of this server does not name these addresses: start all replicas with the same range, or free the first addresses of this one`
    conditions.raise(reason, { message, blocksReadiness: false })
  }

  /** What others have damaged beyond reading is made anew. */
  async #discardUnreadable({ resource, ...at }: KeptObject): Promise<void> {
    const unreadable = unreadableAt(this.#context, resource, at)
    if (unreadable !== undefined) await discard(this.#context, resource, unreadable)
  }

  /** Endpoints are of no use without their Service, so the first failure is the last. */
  async #ensure(objects: readonly KeptObject[]): Promise<NodeProxyError | undefined> {
    for (const object of objects) {
      await this.#discardUnreadable(object)
      const written = await ensureObject(this.#context, object)
      if (written instanceof StatusError) return refusedError(object, written)
      const key = storageKey(object.resource, object.namespace, object.name)
      this.#written.set(key, written.modRevision)
    }
    return undefined
  }

  /** Slices for ports that no server has, or that others made to send Pods elsewhere. */
  async #removeOtherSlices(): Promise<void> {
    const { feed, store } = this.#context
    const names = new Set(this.#masters.map(({ name }) => name))
    const prefix = storagePrefix(endpointSlices, MASTER_NAMESPACE)
    for (const { key, revision, labels } of feed.cache(endpointSlices).under(prefix)) {
      if (!names.has(labels[SERVICE_NAME] ?? '') || this.#written.has(key)) continue
      await deleteUnchanged(store, key, revision)
    }
  }
}

function asMasterError(error: unknown): NodeProxyError {
  if (error instanceof NodeProxyError && error.code === 'NP_APISERVER_MASTER_SERVICE') return error
  throw error
}

function refusedError({ namespace, name }: KeptObject, refusal: StatusError): NodeProxyError {
  return new NodeProxyError(
    'NP_APISERVER_MASTER_SERVICE',
    `the Service of the API cannot be kept: ${refusal.status.message}`,
    {
      object: `${namespace}/${name}`,
      hint: 'if its address is taken, delete the Service that has it; it is tried again every 10 s',
    },
  )
}
