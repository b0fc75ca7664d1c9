import type { Clock } from '../../../lib/clock.ts'
import type { UpstreamAnswer } from '../message/read-reply.ts'
import { BoundedMap, type MapLimits } from './bounded-map.ts'
import { lifetimeOf, limitTtls, type TtlLimits } from './time-to-live.ts'

/** How long and how much is kept. */
export interface CacheLimits extends MapLimits, TtlLimits {
  /** Milliseconds for which an answer is kept after its TTL, to be used when no upstream answers (RFC 8767). */
  readonly staleMs: number
  /** Milliseconds for which a question that no upstream answered is not forwarded again (RFC 9520). */
  readonly failureMs: number
}

/** What the cache holds of a question at present. */
export interface CachedAnswer {
  /** Undefined when only a failure is known. */
  readonly answer: UpstreamAnswer | undefined
  /** Milliseconds since it was received. */
  readonly ageMs: number
  /** Whether its TTL has not passed. */
  readonly isFresh: boolean
  /** Whether no upstream answered a moment ago. */
  readonly isFailing: boolean
}

interface CacheEntry {
  readonly answer: UpstreamAnswer | undefined
  readonly receivedAt: number
  readonly freshUntil: number
  readonly failingUntil: number
}

/** Estimates of the memory of an entry and of one record, beside their names and data. */
const ENTRY_BYTES = 512
const RECORD_BYTES = 384

/** Answers of upstreams by question, each until its TTL has passed and then for `staleMs`. */
export class AnswerCache {
  readonly #entries: BoundedMap<CacheEntry>
  readonly #limits: CacheLimits
  readonly #clock: Pick<Clock, 'now'>

  constructor(limits: CacheLimits, clock: Pick<Clock, 'now'>, onEvict: () => void) {
    this.#entries = new BoundedMap(limits, onEvict)
    this.#limits = limits
    this.#clock = clock
  }

  get size(): number {
    return this.#entries.size
  }

  /** Estimated memory of all entries. */
  get bytes(): number {
    return this.#entries.bytes
  }

  /** What is known of a question; an entry of which nothing can be used any more is removed. */
  get(key: string): CachedAnswer | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    const now = this.#clock.now()
    const { receivedAt, freshUntil, failingUntil } = entry
    const answer = now < freshUntil + this.#limits.staleMs ? entry.answer : undefined
    const isFailing = now < failingUntil
    if (answer === undefined && !isFailing) {
      this.#entries.delete(key)
      return undefined
    }
    // The machine's clock may be set back.
    const ageMs = Math.max(0, now - receivedAt)
    return { answer, ageMs, isFresh: now < freshUntil, isFailing }
  }

  /** Keeps an answer, unless its TTL is 0; returns it with its TTLs within the limits. */
  store(key: string, received: UpstreamAnswer): UpstreamAnswer {
    const answer = limitTtls(received, this.#limits)
    const receivedAt = this.#clock.now()
    const freshUntil = receivedAt + lifetimeOf(answer) * 1000
    if (freshUntil === receivedAt) this.#entries.delete(key)
    else this.#set(key, { answer, receivedAt, freshUntil, failingUntil: 0 })
    return answer
  }

  /** No upstream answered; an answer that is kept remains. */
  fail(key: string): void {
    const now = this.#clock.now()
    const known = this.#entries.get(key) ?? { answer: undefined, receivedAt: now, freshUntil: 0 }
    this.#set(key, { ...known, failingUntil: now + this.#limits.failureMs })
  }

  #set(key: string, entry: CacheEntry): void {
    this.#entries.set(key, entry, ENTRY_BYTES + 2 * key.length + memoryOf(entry.answer))
  }
}

function memoryOf(answer: UpstreamAnswer | undefined): number {
  if (answer === undefined) return 0
  const records = answer.answers.length + answer.authorities.length
  return records * RECORD_BYTES + 2 * answer.wireBytes
}
