import type { ServerContext } from '../context/server-context.ts'
import { KeptMasters, MASTER_RESOURCES } from './kept-masters.ts'
import type { ReplicaAddress } from './replica-address.ts'
import { ReplicaLeases } from './replica-leases.ts'

export interface MasterServiceOptions {
  readonly context: ServerContext
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
  readonly #kept: KeptMasters
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
    const { feed, store } = options.context
    this.#leases = new ReplicaLeases(store)
    this.#kept = new KeptMasters(options.context)
    const look = (): void => this.#look()
    this.#unsubscribe = MASTER_RESOURCES.map((resource) => feed.cache(resource).subscribe(look))
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

  /** Whether somebody else wrote what is ours: then it is put right. */
  #look(): void {
    if (this.#isQueued || this.#atOnce === MOST_AT_ONCE || !this.#kept.isTampered) return
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
    await this.#kept.leadTo(await this.#leases.living())
    this.#look()
  }
}
