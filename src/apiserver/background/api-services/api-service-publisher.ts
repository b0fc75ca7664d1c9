import type { BackgroundContext } from '../background-context.ts'
import { API_SERVICE_RESOURCES, ApiServiceReconciler } from './api-service-reconciler.ts'
import type { ReplicaAddress } from './replica-address.ts'
import { ReplicaLeases } from './replica-leases.ts'

export interface ApiServicePublisherOptions {
  readonly context: BackgroundContext
  /** Where this server is reached; undefined: not by Pods. */
  readonly replica: ReplicaAddress | undefined
  readonly onError: (error: unknown) => void
}

/**
 * Immediate corrections in one round. Two servers with different configurations would otherwise
 * write against each other as fast as the store allows.
 */
const MAX_AT_ONCE = 10

/** The other servers notice that a server stopped after four or five of these. */
const ROUND_MS = 10_000

/**
 * Keeps the Services by which Pods reach the API (`kubernetes` and `orch`) pointing at every
 * server that lives. When a client deletes or changes them or their endpoints, the server corrects
 * them at once; after several such changes in one round, in the next round.
 */
export class ApiServicePublisher {
  readonly #options: ApiServicePublisherOptions
  readonly #leases: ReplicaLeases
  readonly #reconciler: ApiServiceReconciler
  readonly #unsubscribe: readonly (() => void)[]
  #cancel = (): void => undefined
  #work: Promise<void> = Promise.resolve()
  #isQueued = false
  #isRoundDue = false
  #atOnce = 0
  #isStopped = false
  #isFailing = false

  constructor(options: ApiServicePublisherOptions) {
    this.#options = options
    const { feed, store } = options.context
    this.#leases = new ReplicaLeases(store)
    this.#reconciler = new ApiServiceReconciler(options.context)
    const look = (): void => this.#look()
    this.#unsubscribe = API_SERVICE_RESOURCES.map((resource) =>
      feed.cache(resource).subscribe(look),
    )
    this.#round()
  }

  /** Takes this server out of the endpoints; the other servers stay in them. */
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

  /**
   * At most one round waits. Many at once, after the store was slow, would count the leases of
   * other servers as missed.
   */
  #round(): void {
    this.#cancel = this.#options.context.clock.after(ROUND_MS, () => this.#round())
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

  /** Corrects the objects when another writer has changed them. */
  #look(): void {
    if (this.#isQueued || this.#atOnce === MAX_AT_ONCE || !this.#reconciler.isChangedByOthers)
      return
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

  /** Reports the first failure of a series; the next round tries again. */
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
    await this.#reconciler.reconcile(await this.#leases.living())
    this.#look()
  }
}
