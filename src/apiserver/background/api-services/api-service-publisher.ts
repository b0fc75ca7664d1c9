import type { BackgroundContext } from '../background-context.ts'
import { API_SERVICE_RESOURCES, ApiServiceReconciler } from './api-service-reconciler.ts'
import type { ReplicaAddress } from './replica-address.ts'
import { ReplicaLeases } from './replica-leases.ts'

export interface ApiServicePublisherOptions {
  readonly context: BackgroundContext
  /** The address at which Pods reach this server; undefined: they cannot. */
  readonly replica: ReplicaAddress | undefined
  /** Receives the first error of a series of failed attempts. */
  readonly onError: (error: unknown) => void
}

/**
 * Corrections between two rounds. Without this limit, two servers with different configurations would undo each
 * other's writes as fast as the store allows.
 */
const MAX_CORRECTIONS = 10

/** Other servers drop a server that is gone after `MAX_MISSED` rounds (`replica-leases.ts`), about 40 s. */
const ROUND_MS = 10_000

/**
 * Keeps the Services by which Pods reach the API (`kubernetes` and `orch`) pointing at every
 * running server. When a client deletes or changes them or their endpoints, the server corrects
 * them at once, at most ten times between two rounds, and otherwise in the next round.
 */
export class ApiServicePublisher {
  readonly #options: ApiServicePublisherOptions
  readonly #leases: ReplicaLeases
  readonly #reconciler: ApiServiceReconciler
  readonly #unsubscribe: readonly (() => void)[]
  #cancelRound = (): void => undefined
  #work: Promise<void> = Promise.resolve()
  /** Whether a correction waits in `#work`. */
  #isCorrectionDue = false
  /** Whether a round waits in `#work`. */
  #isRoundDue = false
  /** Corrections since the last round. */
  #corrections = 0
  #isStopped = false
  #isFailing = false

  constructor(options: ApiServicePublisherOptions) {
    this.#options = options
    const { feed, store } = options.context
    this.#leases = new ReplicaLeases(store)
    this.#reconciler = new ApiServiceReconciler(options.context)
    const correct = (): void => this.#correctChanges()
    this.#unsubscribe = API_SERVICE_RESOURCES.map((resource) =>
      feed.cache(resource).subscribe(correct),
    )
    this.#round()
  }

  /** Takes this server out of the endpoints; the other servers stay in them. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancelRound()
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
   * Begins a round every ten seconds. At most one round waits: several in a row, after the store was slow,
   * would make other servers count as gone.
   */
  #round(): void {
    this.#cancelRound = this.#options.context.clock.after(ROUND_MS, () => this.#round())
    if (this.#isRoundDue) return
    this.#isRoundDue = true
    this.#enqueue(() => {
      this.#isRoundDue = false
      return this.#renewAndReconcile()
    })
  }

  async #renewAndReconcile(): Promise<void> {
    this.#corrections = 0
    const { replica } = this.#options
    if (replica !== undefined) await this.#leases.renew(replica)
    await this.#leases.expire()
    await this.#reconcile()
  }

  /** Corrects the objects when another writer has changed them. */
  #correctChanges(): void {
    if (this.#isCorrectionDue || this.#corrections === MAX_CORRECTIONS) return
    if (!this.#reconciler.isChangedByOthers) return
    this.#isCorrectionDue = true
    this.#corrections++
    this.#enqueue(() => {
      this.#isCorrectionDue = false
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
    await this.#reconciler.reconcile(await this.#leases.running())
    this.#correctChanges()
  }
}
