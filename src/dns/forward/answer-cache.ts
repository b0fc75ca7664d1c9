import type { Answer } from 'dns-packet'
import type { Clock } from '../../lib/clock.ts'
import type { UpstreamAnswer } from './message/read-reply.ts'

/** A TTL with its first bit set counts as 0 (RFC 2181 §8). */
const TTL_LIMIT = 2 ** 31

/** How long and how much is kept. */
export interface CacheLimits extends MapLimits, TtlLimits {
  /** Milliseconds for which an answer is kept after its TTL, to be used when no upstream answers (RFC 8767). */
  readonly staleMs: number
  /** Milliseconds for which a question that no upstream answered is not forwarded again (RFC 9520). */
  readonly failureMs: number
}

/** What the cache currently holds for a question. */
export interface CachedAnswer {
  /** Undefined when only a failure is known. */
  readonly answer: UpstreamAnswer | undefined
  /** Milliseconds since it was received. */
  readonly ageMs: number
  /** Whether its TTL has not passed, as far as the clock shows. */
  readonly isFresh: boolean
  /** Whether no upstream answered within the last `failureMs`. */
  readonly isFailing: boolean
}

interface CacheEntry {
  readonly answer: UpstreamAnswer | undefined
  readonly receivedAt: number
  readonly freshUntil: number
  readonly failingUntil: number
}

/** Estimates of the memory of an entry and of one record, in addition to the bytes of their names and data. */
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

  /** What is known about a question; an entry without any usable content is removed. */
  get(key: string): CachedAnswer | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    const now = this.#clock.now()
    const { receivedAt, freshUntil, failingUntil } = entry
    const answer = now < freshUntil + this.#limits.staleMs ? entry.answer : undefined
    const isFresh = now < freshUntil
    const isFailing = now < failingUntil
    if (answer === undefined && !isFailing) {
      this.#entries.delete(key)
      return undefined
    }
    return { answer, ageMs: now - receivedAt, isFresh, isFailing }
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

  /** Records that no upstream answered; a cached answer is kept. */
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

/** What a bounded map may hold. */
interface MapLimits {
  readonly maxEntries: number
  /** Bytes of all entries together, as their owner estimates them. */
  readonly maxBytes: number
}

interface Held<V> {
  readonly value: V
  readonly bytes: number
}

/** A map that removes the least recently used entries when it has too many, or they take too many bytes. */
export class BoundedMap<V> {
  /** The least recently used first. */
  readonly #entries = new Map<string, Held<V>>()
  readonly #limits: MapLimits
  readonly #onEvict: () => void
  #bytes = 0

  constructor(limits: MapLimits, onEvict: () => void) {
    this.#limits = limits
    this.#onEvict = onEvict
  }

  get size(): number {
    return this.#entries.size
  }

  get bytes(): number {
    return this.#bytes
  }

  /** The value, which is the most recently used one from now on. */
  get(key: string): V | undefined {
    const held = this.#entries.get(key)
    if (held === undefined) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, held)
    return held.value
  }

  /** Replaces the value. A value larger than `maxBytes` is not kept. */
  set(key: string, value: V, bytes: number): void {
    this.delete(key)
    this.#entries.set(key, { value, bytes })
    this.#bytes += bytes
    for (const [oldest] of this.#entries) {
      const { maxEntries, maxBytes } = this.#limits
      if (this.#entries.size <= maxEntries && this.#bytes <= maxBytes) break
      this.delete(oldest)
      this.#onEvict()
    }
  }

  delete(key: string): void {
    this.#bytes -= this.#entries.get(key)?.bytes ?? 0
    this.#entries.delete(key)
  }
}

/** Upper limits of TTLs, in seconds. */
interface TtlLimits {
  readonly maxTtl: number
  /** The limit for NXDOMAIN and NODATA. */
  readonly maxNegativeTtl: number
}

/** Lowers the TTLs of an answer to the limits, and those of a negative answer also to its negative TTL. */
function limitTtls(answer: UpstreamAnswer, limits: TtlLimits): UpstreamAnswer {
  const { negativeTtl } = answer
  const limit =
    negativeTtl === undefined
      ? limits.maxTtl
      : Math.min(limits.maxTtl, limits.maxNegativeTtl, valid(negativeTtl))
  const lower = (ttl: number): number => Math.min(limit, valid(ttl))
  return {
    ...answer,
    answers: mapTtls(answer.answers, lower),
    authorities: mapTtls(answer.authorities, lower),
    negativeTtl: negativeTtl === undefined ? undefined : limit,
  }
}

/** Seconds for which the answer holds: the least of its TTLs. */
function lifetimeOf({ answers, authorities, negativeTtl }: UpstreamAnswer): number {
  const ttls = [...answers, ...authorities].map(ttlOf)
  return Math.min(...ttls, negativeTtl ?? Number.POSITIVE_INFINITY)
}

/** The records with other TTLs. */
export function mapTtls(
  records: readonly Answer[],
  change: (ttl: number) => number,
): readonly Answer[] {
  return records.map((record) =>
    record.type === 'OPT' ? record : { ...record, ttl: change(ttlOf(record)) },
  )
}

function ttlOf(record: Answer): number {
  return record.type === 'OPT' ? 0 : (record.ttl ?? 0)
}

/** The TTL as it counts, in seconds. */
function valid(ttl: number): number {
  return ttl < TTL_LIMIT ? ttl : 0
}
