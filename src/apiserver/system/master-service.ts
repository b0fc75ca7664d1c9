import { NodeProxyError } from '../../lib/error.ts'
import { MASTER_NAMESPACE } from '../../resources/pod-environment.ts'
import { endpointSlices } from '../kinds/endpoint-slice.ts'
import { endpoints } from '../kinds/endpoints.ts'
import { services } from '../kinds/service.ts'
import { storageKey, storagePrefix } from '../resource.ts'
import type { Serving } from '../serving.ts'
import { Refusal } from '../status.ts'
import { ensureObject, type KeptObject } from './ensure-object.ts'
import { masterObjects, SERVICE_NAME } from './master-objects.ts'
import { type Master, mastersOf } from './masters.ts'
import type { ReplicaAddress } from './replica-address.ts'
import { ReplicaLeases } from './replica-leases.ts'

export interface MasterServiceOptions {
  readonly serving: Serving
  /** Where this server is reached; undefined: not by Pods. */
  readonly replica: ReplicaAddress | undefined
  readonly onError: (error: unknown) => void
}

/**
 * How often in one round they are put right at once. Two servers that disagree
 * would otherwise write against each other as fast as the store can.
 */
const MOST_AT_ONCE = 10

/** A server that is gone is noticed after four or five of these. */
const ROUND_MS = 10_000

/**
 * Keeps the Services by which Pods reach the API (`kubernetes`, and `orch` by our
 * own name) pointing at every server that lives. Whoever deletes or changes them,
 * or their endpoints, finds them put right at once; who goes on, in the next round.
 */
export class MasterService {
  readonly #options: MasterServiceOptions
  readonly #leases: ReplicaLeases
  readonly #masters: readonly Master[]
  /** The revisions in which we left our objects, by storage key. */
  readonly #written = new Map<string, number>()
  readonly #unsubscribe: readonly (() => void)[]
  #cancel = (): void => undefined
  #work: Promise<void> = Promise.resolve()
  #isQueued = false
  #isRoundDue = false
  #atOnce = 0
  #isStopped = false
  #isFailing = false

  constructor(options: MasterServiceOptions) {
    this.#options = options
    const { feed, store, allocator } = options.serving
    const [range] = allocator.ranges
    this.#leases = new ReplicaLeases(store)
    this.#masters = range === undefined ? [] : mastersOf(range)
    const look = (): void => this.#look()
    const watched = [services, endpoints, endpointSlices]
    this.#unsubscribe = watched.map((resource) => feed.cache(resource).subscribe(look))
    this.#round()
  }

  /** Takes this server out, and leaves the others to the others. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancel()
    for (const end of this.#unsubscribe) end()
    await this.#work
    const { replica } = this.#options
    if (replica === undefined) return
    await this.#attempt(async () => {
      await this.#leases.withdraw(replica)
      await this.#reconcile()
    })
  }

  /** No more than one waits: in many at once, after the store was slow, others would miss theirs. */
  #round(): void {
    this.#cancel = this.#options.serving.clock.after(ROUND_MS, () => this.#round())
    if (this.#isRoundDue) return
    this.#isRoundDue = true
    this.#enqueue(() => {
      this.#isRoundDue = false
      return this.#renew()
    })
  }

  async #renew(): Promise<void> {
    this.#atOnce = 0
    const { replica } = this.#options
    if (replica !== undefined) await this.#leases.renew(replica)
    await this.#leases.round()
    await this.#reconcile()
  }

  /** Whether somebody else wrote what is ours: then it is put right. */
  #look(): void {
    const { feed } = this.#options.serving
    const isForeign = [...this.#written].some(([key, revision]) => {
      const resource = [services, endpoints, endpointSlices].find((one) =>
        key.startsWith(storagePrefix(one)),
      )!
      const cache = feed.cache(resource)
      return (cache.get(key)?.revision ?? cache.revision) > revision
    })
    if (!isForeign || this.#isQueued || this.#atOnce === MOST_AT_ONCE) return
    this.#isQueued = true
    this.#atOnce++
    this.#enqueue(() => {
      this.#isQueued = false
      return this.#reconcile()
    })
  }

  #enqueue(task: () => Promise<void>): void {
    this.#work = this.#work.then(() => (this.#isStopped ? undefined : this.#attempt(task)))
  }

  /** What fails is told once, and tried again in the next round. */
  async #attempt(task: () => Promise<void>): Promise<void> {
    try {
      await task()
      this.#isFailing = false
    } catch (error) {
      if (!this.#isFailing) this.#options.onError(error)
      this.#isFailing = true
    }
  }

  async #reconcile(): Promise<void> {
    const replicas = await this.#leases.living()
    this.#written.clear()
    const failures: NodeProxyError[] = []
    for (const master of this.#masters) {
      const failure = await this.#ensure(masterObjects(master, replicas))
      if (failure !== undefined) failures.push(failure)
    }
    await this.#removeOtherSlices()
    if (failures[0] !== undefined) throw failures[0]
    this.#look()
  }

  /** Endpoints are of no use without their Service, so the first failure is the last. */
  async #ensure(objects: readonly KeptObject[]): Promise<NodeProxyError | undefined> {
    for (const object of objects) {
      const written = await ensureObject(this.#options.serving, object)
      if (written instanceof Refusal) return refusedError(object, written)
      const key = storageKey(object.resource, object.namespace, object.name)
      this.#written.set(key, written.modRevision)
    }
    return undefined
  }

  /** Slices for ports that no server has, or that others made to send Pods elsewhere. */
  async #removeOtherSlices(): Promise<void> {
    const { feed, store } = this.#options.serving
    const names = new Set(this.#masters.map(({ name }) => name))
    const prefix = storagePrefix(endpointSlices, MASTER_NAMESPACE)
    for (const { key, revision, labels } of feed.cache(endpointSlices).under(prefix)) {
      if (!names.has(labels[SERVICE_NAME] ?? '') || this.#written.has(key)) continue
      const compare = [{ key, modRevision: revision }]
      await store.txn({ compare, operations: [{ op: 'delete', key }] })
    }
  }
}

function refusedError({ namespace, name }: KeptObject, refusal: Refusal): NodeProxyError {
  return new NodeProxyError(
    'NP_APISERVER_MASTER_SERVICE',
    `the Service of the API cannot be kept: ${refusal.status.message}`,
    {
      object: `${namespace}/${name}`,
      hint: 'if its address is taken, delete the Service that has it; it is tried again every 10 s',
    },
  )
}
