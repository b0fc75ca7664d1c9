import type { Clock } from '../../lib/clock.ts'
import type { Requester } from './requester.ts'

/** A waiting request: the function that starts it, and the one that rejects it when the queue is full. */
export interface Waiting {
  readonly start: () => void
  readonly reject: () => void
}

/** The concurrency slot of one request. */
export interface Slot {
  /** Frees the slot for the next request; calling it again does nothing. */
  release(): void
  /**
   * Frees the slot until `work` has ended, for work that waits for what other requests do: if all slots waited for
   * them, they would never run. Resolves to the reason if the request got no slot again, or if `work` was not
   * done because too many requests wait.
   */
  lend(work: () => Promise<void>): Promise<RejectionReason | undefined>
}

export const REQUEST_KINDS = ['readOnly', 'mutating'] as const
export type RequestKind = (typeof REQUEST_KINDS)[number]

export interface InFlightOptions {
  readonly clock: Clock
  /** Requests at one time. */
  readonly inFlight: Readonly<Record<RequestKind, number>>
  /** Milliseconds that a request may wait for a slot. */
  readonly waitMs: number
}

/** Requests that may wait for each concurrency slot. */
const QUEUED_PER_SLOT = 10

/** The share of the slots that is reserved for components of the cluster. */
const SYSTEM_SHARE = 0.25

interface Levels {
  readonly system: ConcurrencyLimit
  readonly workload: ConcurrencyLimit
}

/**
 * Limits how many requests run at one time, separately for reads and writes. Components of the cluster and
 * other clients have separate slots, so neither can starve the other.
 */
export class InFlightLimits {
  readonly #levels: Readonly<Record<RequestKind, Levels>>

  constructor(options: InFlightOptions) {
    const { readOnly, mutating } = options.inFlight
    this.#levels = { readOnly: levelsOf(options, readOnly), mutating: levelsOf(options, mutating) }
  }

  acquire(
    kind: RequestKind,
    { client, isSystem }: Requester,
  ): Slot | Promise<Slot | RejectionReason> {
    const { system, workload } = this.#levels[kind]
    return (isSystem ? system : workload).acquire(client)
  }

  /** How many requests run, and how many wait. */
  load(kind: RequestKind): { readonly running: number; readonly waiting: number } {
    const { system, workload } = this.#levels[kind]
    return {
      running: system.running + workload.running,
      waiting: system.waiting + workload.waiting,
    }
  }
}

function levelsOf({ clock, waitMs }: InFlightOptions, inFlight: number): Levels {
  const share = Math.max(1, Math.floor(inFlight * SYSTEM_SHARE))
  const limit = (slots: number): ConcurrencyLimit =>
    new ConcurrencyLimit({ clock, slots, queueLength: slots * QUEUED_PER_SLOT, waitMs })
  return { system: limit(share), workload: limit(Math.max(1, inFlight - share)) }
}

/** Why a request is rejected, as Kubernetes labels it in metrics. */
export type RejectionReason = 'queue-full' | 'time-out'

interface ConcurrencyLimitOptions {
  readonly clock: Clock
  /** Requests that run at one time. */
  readonly slots: number
  /** Requests that may wait. */
  readonly queueLength: number
  /** Milliseconds that a request waits before it is rejected. */
  readonly waitMs: number
}

/** Bounds how many requests run at one time; further requests wait in a queue that is fair to clients. */
class ConcurrencyLimit {
  readonly #options: ConcurrencyLimitOptions
  readonly #queue: FairQueue
  #running = 0
  /** Requests that wait without a slot for what others do. */
  #lent = 0

  constructor(options: ConcurrencyLimitOptions) {
    this.#options = options
    this.#queue = new FairQueue(options.queueLength)
  }

  get running(): number {
    return this.#running
  }

  get waiting(): number {
    return this.#queue.size + this.#lent
  }

  /** Takes a slot for a request of `client`, synchronously when one is free. */
  acquire(client: string): Slot | Promise<Slot | RejectionReason> {
    if (this.#running < this.#options.slots) return this.#slotOf(client)
    const { clock, waitMs } = this.#options
    return new Promise((resolve) => {
      const cancel = clock.after(waitMs, () => {
        this.#queue.remove(client, waiting)
        resolve('time-out')
      })
      const waiting: Waiting = {
        start: () => {
          cancel()
          resolve(this.#slotOf(client))
        },
        reject: () => {
          cancel()
          resolve('queue-full')
        },
      }
      this.#queue.push(client, waiting)
    })
  }

  #slotOf(client: string): Slot {
    let free = this.#occupy()
    return {
      release: () => free(),
      lend: async (work) => {
        if (this.#lent >= this.#options.queueLength) return 'queue-full'
        free()
        this.#lent++
        await work().finally(() => this.#lent--)
        const again = await this.acquire(client)
        if (typeof again === 'string') return again
        free = () => again.release()
        return undefined
      },
    }
  }

  #occupy(): () => void {
    this.#running++
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#running--
      this.#queue.shift()?.start()
    }
  }
}

/**
 * Waiting requests, served client by client in turn: a client that sends a thousand requests mostly delays its
 * own. When the queue is full, the newest request of the client with the most waiting requests is rejected.
 */
export class FairQueue {
  readonly #byClient = new Map<string, Waiting[]>()
  readonly #capacity: number
  #size = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get size(): number {
    return this.#size
  }

  push(client: string, waiting: Waiting): void {
    const mine = this.#byClient.get(client) ?? []
    mine.push(waiting)
    this.#byClient.set(client, mine)
    this.#size++
    if (this.#size > this.#capacity) this.#rejectNewestOfLargest()
  }

  /** Takes the next request out of the queue; its client then moves behind all other clients. */
  shift(): Waiting | undefined {
    for (const [client, waiting] of this.#byClient) {
      this.#byClient.delete(client)
      const next = waiting.shift()
      if (waiting.length > 0) this.#byClient.set(client, waiting)
      if (next === undefined) continue
      this.#size--
      return next
    }
    return undefined
  }

  /** Removes a request that no longer waits. */
  remove(client: string, waiting: Waiting): void {
    const mine = this.#byClient.get(client) ?? []
    const index = mine.indexOf(waiting)
    if (index < 0) return
    mine.splice(index, 1)
    this.#size--
    if (mine.length === 0) this.#byClient.delete(client)
  }

  #rejectNewestOfLargest(): void {
    let largest: readonly [client: string, waiting: readonly Waiting[]] = ['', []]
    for (const one of this.#byClient) {
      if (one[1].length >= largest[1].length) largest = one
    }
    const newest = largest[1].at(-1)
    if (newest === undefined) return
    this.remove(largest[0], newest)
    newest.reject()
  }
}
