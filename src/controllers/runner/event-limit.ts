import type { Clock } from '../../lib/clock.ts'
import { objectAt, stringAt } from '../../lib/json.ts'
import type { EventWrite } from './write.ts'

/** Events about one object that may be recorded at once. */
const BURST = 25
/** The time after which one more Event about the object may be recorded, in milliseconds. */
const REFILL_MS = 300_000
/** More objects than a controller reports on within the time that their Events are counted. */
const MAX_OBJECTS = 4_096

interface Bucket {
  tokens: number
  /** Milliseconds since the epoch. */
  refilledAt: number
}

/**
 * Limits the Events of one controller about one object, as clients of Kubernetes do: 25 at once, then one in five
 * minutes. Without it, a ReplicaSet of a thousand Pods would have a thousand Events.
 */
export class EventLimit {
  readonly #clock: Pick<Clock, 'now'>
  /** By object; the one that was reported on last is the last. */
  readonly #buckets = new Map<string, Bucket>()

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  /** Counts an Event. @returns whether it may be recorded */
  take({ body }: EventWrite): boolean {
    const { kind, namespace, name, uid } = objectAt(body, 'involvedObject')
    const key = JSON.stringify([stringAt(body, 'source', 'component'), kind, namespace, name, uid])
    const now = this.#clock.now()
    const bucket = this.#buckets.get(key) ?? { tokens: BURST, refilledAt: now }
    this.#buckets.delete(key)
    this.#buckets.set(key, bucket)
    const [oldest] = this.#buckets.keys()
    if (this.#buckets.size > MAX_OBJECTS && oldest !== undefined) this.#buckets.delete(oldest)
    const earned = Math.max(0, Math.floor((now - bucket.refilledAt) / REFILL_MS))
    bucket.tokens = Math.min(BURST, bucket.tokens + earned)
    bucket.refilledAt += earned * REFILL_MS
    if (bucket.tokens === 0) return false
    bucket.tokens -= 1
    return true
  }
}
