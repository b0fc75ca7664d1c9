import { type IpAddress, parseIp } from '../../lib/ip.ts'
import { stringAt, valueAt } from '../../lib/json.ts'
import type { Store, StoredEntry } from '../../storage/store.ts'
import { parseJson } from '../encoding/parse-json.ts'
import { StatusError } from '../status/status.ts'
import { deleteUnchanged } from '../verbs/persist.ts'
import { API_SERVICE_RESOURCES, ApiServiceReconciler } from './api-service-reconciler.ts'
import type { ReplicaAddress } from './api-services.ts'
import type { BackgroundContext } from './system-request.ts'

interface ApiServicePublisherOptions {
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

/** Other servers drop a server that is gone after `MAX_MISSED` rounds, about 40 s. */
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

/**
 * The prefix of the store keys of servers, which are not objects of the API. Each server writes its key in
 * every round.
 */
const PREFIX = '/masters/'

/** Levels of nesting in the JSON of a key. */
const DEPTH = 2

/** Rounds in a row in which a key must stay the same before its server counts as gone. */
const MAX_MISSED = 4

/**
 * Which servers of the cluster are running. Each server counts the rounds in which the others wrote nothing. No
 * times are compared, so clocks may differ or jump.
 */
class ReplicaLeases {
  readonly #store: Store
  readonly #seen = new Map<string, { readonly revision: number; readonly missed: number }>()

  constructor(store: Store) {
    this.#store = store
  }

  /** Writes the key of a server. @throws the errors of the store */
  async renew(replica: ReplicaAddress): Promise<void> {
    const value = Buffer.from(JSON.stringify(replica))
    const operations = [{ op: 'put', key: keyOf(replica), value } as const]
    await this.#store.txn({ compare: [], operations })
  }

  /** Deletes the key of a server that stops. @throws the errors of the store */
  async withdraw(replica: ReplicaAddress): Promise<void> {
    const operations = [{ op: 'delete', key: keyOf(replica) } as const]
    await this.#store.txn({ compare: [], operations })
  }

  /** Counts one more round for all keys, and deletes those of servers that are gone. To be called once a round. */
  async expire(): Promise<void> {
    const entries = await this.#entries()
    const before = new Map(this.#seen)
    this.#seen.clear()
    for (const { key, modRevision: revision } of entries) {
      const known = before.get(key)
      const missed = known?.revision === revision ? known.missed + 1 : 0
      if (missed < MAX_MISSED) this.#seen.set(key, { revision, missed })
      else await deleteUnchanged(this.#store, key, revision)
    }
  }

  /** The running servers, in the order of their keys. */
  async running(): Promise<readonly ReplicaAddress[]> {
    return (await this.#entries()).flatMap(({ value }) => readReplica(value) ?? [])
  }

  async #entries(): Promise<readonly StoredEntry[]> {
    const page = await this.#store.list({ prefix: PREFIX })
    return page.refused === undefined ? page.entries : []
  }
}

function keyOf({ ip, port }: ReplicaAddress): string {
  return `${PREFIX}${ip}/${port}`
}

/** Undefined: the value is unreadable. Its key then expires like that of a server that is gone. */
function readReplica(value: Buffer): ReplicaAddress | undefined {
  const lease = parseJson(value, DEPTH)
  if (lease instanceof StatusError) return undefined
  const ip: IpAddress | undefined = parseIp(stringAt(lease, 'ip'))
  const port = Number(valueAt(lease, 'port'))
  return ip === undefined ? undefined : { ip, port }
}
