import type { Answer } from 'dns-packet'
import { type Clock, steadyClock } from '../../lib/clock.ts'
import { type Random, systemRandom } from '../../lib/random.ts'
import { lowerCase } from '../wire/name.ts'
import { AnswerCache, type CachedAnswer, type CacheLimits, mapTtls } from './answer-cache.ts'
import { type ForwardQuestion, type Query, queryOf } from './message/query.ts'
import type { UpstreamAnswer } from './message/read-reply.ts'
import {
  type AttemptSchedule,
  queryUpstreams,
  type UpstreamContext,
  type UpstreamObserver,
} from './upstream/query-upstreams.ts'
import type { Upstream } from './upstream/upstream.ts'
import {
  type AwayUpstream,
  type UpstreamChange,
  UpstreamHealth,
} from './upstream/upstream-health.ts'

/** Limits of the cache, of attempts, and of questions in flight. */
export interface ForwardLimits extends CacheLimits, AttemptSchedule {
  /** Different questions that upstreams are queried about at once. Each has up to `maxAttempts` sockets. */
  readonly maxInFlight: number
  /** Milliseconds after which a client receives a stale answer, if there is one. */
  readonly staleAfterMs: number
}

/**
 * Defaults. Four attempts 0.8 s apart end before the 5 s after which libc repeats its question, and 1.8 s is
 * what RFC 8767 §5 recommends. Negative answers are kept for 30 s, so that a name that was queried too early
 * appears soon. A failure is cached for two seconds, to reduce load on a dead upstream (RFC 9520 requires at
 * least one second).
 */
export const DEFAULT_LIMITS: ForwardLimits = {
  attemptMs: 800,
  maxAttempts: 4,
  totalMs: 4000,
  maxInFlight: 512,
  maxEntries: 10_000,
  maxBytes: 16 * 1024 * 1024,
  maxTtl: 3600,
  maxNegativeTtl: 30,
  staleMs: 3_600_000,
  staleAfterMs: 1800,
  failureMs: 2000,
}

/** The TTL of stale records in seconds (RFC 8767 §4). */
const STALE_TTL = 30

/** Answers questions with the help of other DNS servers. */
export interface Forwarder {
  /** Never waits longer than `totalMs`. Rejects only on a bug. */
  query(question: ForwardQuestion): Promise<ForwardedAnswer>
  /** Current numbers, for gauges. */
  usage(): ForwarderUsage
  /** Upstreams that do not answer, as the last questions showed. */
  away(): readonly AwayUpstream[]
  /**
   * Ends the questions in flight, which then get a stale answer or the fault `unanswered`. No socket is open afterwards.
   */
  close(): Promise<void>
}

/** See `Forwarder.usage`. */
export interface ForwarderUsage {
  readonly entries: number
  /** Estimated memory of the cache. */
  readonly bytes: number
  readonly inFlight: number
}

/**
 * Forwards questions to upstreams, with a cache.
 *
 * A question is answered from the cache while the TTL of its answer lasts; it is keyed by name without case,
 * type, class, DO and CD. Otherwise the upstreams are queried, once for all clients that have the question at
 * that time: see `queryUpstreams` for the order of attempts, `udpExchange` for the protection from forged
 * replies, and `relevantRecords` for the part of a reply that is used. Negative answers are cached by their SOA
 * record (RFC 2308).
 *
 * An expired answer is kept for `staleMs` and used when no upstream answers, when none has answered for
 * `staleAfterMs`, when too many questions are in flight, and at once while all upstreams are known to be away;
 * the upstreams are still queried, so that the cache is updated when they answer again (RFC 8767). A question
 * that no upstream answered is not forwarded again for `failureMs`.
 *
 * Everything is limited: questions in flight, attempts, time, sockets, the entries of the cache and their
 * memory.
 */
export function createForwarder(options: ForwarderOptions): Forwarder {
  return new CachingForwarder(options)
}

interface KnownQuestion {
  readonly key: string
  readonly name: string
  readonly query: Query
}

class CachingForwarder implements Forwarder {
  readonly #observer: ForwardObserver
  readonly #cache: AnswerCache
  readonly #flights: Flights
  readonly #context: UpstreamContext
  readonly #closing = new AbortController()

  constructor(options: ForwarderOptions) {
    const { clock = steadyClock, random = systemRandom, observer = noForwardObserver } = options
    const limits = { ...DEFAULT_LIMITS, ...options.limits }
    const onChange = (change: UpstreamChange): void => observer.upstreamChanged(change)
    const health = new UpstreamHealth(options.upstreams, clock, onChange)
    this.#observer = observer
    this.#cache = new AnswerCache(limits, clock, () => observer.evicted())
    this.#flights = new Flights({ ...limits, clock })
    this.#context = { schedule: limits, health, clock, random, observer }
  }

  async query(question: ForwardQuestion): Promise<ForwardedAnswer> {
    const answer = await this.#answer(question)
    this.#observer.queried(answer.fault ?? answer.source)
    return answer
  }

  usage(): ForwarderUsage {
    return { entries: this.#cache.size, bytes: this.#cache.bytes, inFlight: this.#flights.size }
  }

  away(): readonly AwayUpstream[] {
    return this.#context.health.away
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#flights.settled()
  }

  async #answer(question: ForwardQuestion): Promise<ForwardedAnswer> {
    if (this.#closing.signal.aborted) return { fault: 'closed' }
    const { name } = question
    const key = keyOf(question)
    const cached = this.#cache.get(key)
    if (cached?.isFresh && cached.answer !== undefined) {
      return presentAnswer(cached.answer, { name, source: 'cache', ageMs: cached.ageMs })
    }
    const query = queryOf(question)
    if (query === undefined) return { fault: 'unsupported' }
    return this.#fetch({ key, name, query }, cached)
  }

  async #fetch(known: KnownQuestion, cached: CachedAnswer | undefined): Promise<ForwardedAnswer> {
    if (cached?.isFailing) return staleOr('unanswered', known, cached)
    const flight = this.#flights.join(known.key, () => this.#fly(known))
    if (flight === undefined) return staleOr('overloaded', known, cached)
    const answer =
      cached?.answer === undefined
        ? await flight.answer
        : await Promise.race([flight.answer, this.#away() ?? flight.late])
    if (!answer) return staleOr('unanswered', known, cached)
    return presentAnswer(answer, { ...known, source: 'upstream', ageMs: 0 })
  }

  /** A resolved promise while no upstream is expected to answer; else undefined. */
  #away(): Promise<void> | undefined {
    return this.#context.health.isAway ? Promise.resolve() : undefined
  }

  async #fly({ key, query }: KnownQuestion): Promise<UpstreamAnswer | undefined> {
    const { signal } = this.#closing
    const answer = await queryUpstreams(query, this.#context, signal)
    if (answer !== undefined) return this.#cache.store(key, answer)
    if (!signal.aborted) this.#cache.fail(key)
    return undefined
  }
}

function staleOr(
  fault: ForwardFault,
  known: KnownQuestion,
  cached: CachedAnswer | undefined,
): ForwardedAnswer {
  if (cached?.answer === undefined) return { fault }
  return presentAnswer(cached.answer, { ...known, source: 'stale', ageMs: cached.ageMs })
}

function keyOf({ name, type, klass, dnssecOk, checkingDisabled }: ForwardQuestion): string {
  const flags = (dnssecOk ? 2 : 0) + (checkingDisabled ? 1 : 0)
  return `${type} ${klass} ${flags} ${lowerCase(name)}`
}

/** An answer as one client receives it. */
interface Presentation {
  /** The name as this client wrote it: records of that name repeat its case. */
  readonly name: string
  readonly source: AnswerSource
  /** Milliseconds since the answer was received; TTLs are reduced by it. */
  readonly ageMs: number
}

/** The answer with the remaining TTLs, and the name in the client's case. */
function presentAnswer(
  answer: UpstreamAnswer,
  { name, source, ageMs }: Presentation,
): ForwardedAnswer {
  const age = Math.floor(ageMs / 1000)
  const change = (ttl: number): number => (source === 'stale' ? STALE_TTL : Math.max(0, ttl - age))
  return {
    source,
    rcode: answer.rcode,
    isAuthentic: answer.isAuthentic,
    answers: inCaseOf(name, mapTtls(answer.answers, change)),
    authorities: inCaseOf(name, mapTtls(answer.authorities, change)),
  }
}

function inCaseOf(name: string, records: readonly Answer[]): readonly Answer[] {
  const comparable = lowerCase(name)
  return records.map((record) => {
    const isWritten = record.name === name || record.name.length !== name.length
    return isWritten || lowerCase(record.name) !== comparable ? record : { ...record, name }
  })
}

/** What a forwarder is made of. */
interface ForwarderOptions {
  /** At least one, the preferred one first. See `parseUpstream`, `readResolvConf` and `refuseLoop`. */
  readonly upstreams: readonly Upstream[]
  readonly limits?: Partial<ForwardLimits>
  readonly observer?: ForwardObserver
  readonly clock?: Clock
  /** The source of message ids; must be unpredictable. */
  readonly random?: Pick<Random, 'below'>
}

/** A question that upstreams are queried about, for all clients that have it. */
interface Flight {
  /** The answer; undefined when there is none. */
  readonly answer: Promise<UpstreamAnswer | undefined>
  /** Resolves when the answer is so late that a stale one is better; never if the answer arrives earlier. */
  readonly late: Promise<void>
}

/** What flights need. */
interface FlightOptions {
  readonly maxInFlight: number
  readonly staleAfterMs: number
  readonly clock: Pick<Clock, 'after'>
}

/** The questions in flight: each once, and at most a limited number. */
class Flights {
  readonly #flights = new Map<string, Flight>()
  readonly #options: FlightOptions

  constructor(options: FlightOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#flights.size
  }

  /** The flight of `key`: the existing one, or a new one; undefined when there are too many. */
  join(key: string, begin: () => Promise<UpstreamAnswer | undefined>): Flight | undefined {
    const current = this.#flights.get(key)
    if (current !== undefined) return current
    if (this.#flights.size >= this.#options.maxInFlight) return undefined
    const late = Promise.withResolvers<void>()
    const cancel = this.#options.clock.after(this.#options.staleAfterMs, late.resolve)
    const answer = begin().finally(() => {
      this.#flights.delete(key)
      cancel()
    })
    const flight = { answer, late: late.promise }
    this.#flights.set(key, flight)
    return flight
  }

  /** Resolves when no question is in flight. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#flights.values()].map(({ answer }) => answer))
  }
}

/** Receives what metrics about forwarding need. */
export interface ForwardObserver extends UpstreamObserver {
  /** A client's question was answered, or failed. */
  queried(result: AnswerSource | ForwardFault): void
  /** The cache was full, so the least recently used entry was removed. */
  evicted(): void
  /** An upstream does not answer any more, or answers again. */
  upstreamChanged(change: UpstreamChange): void
}

/** Ignores everything. */
const noForwardObserver: ForwardObserver = {
  queried: () => undefined,
  evicted: () => undefined,
  attempted: () => undefined,
  discarded: () => undefined,
  upstreamChanged: () => undefined,
}

/** Why a question has no answer; the client receives SERVFAIL. */
type ForwardFault =
  /** No upstream answered in time, or none with NOERROR or NXDOMAIN. */
  | 'unanswered'
  /** More questions are in flight than allowed. */
  | 'overloaded'
  /** The name is malformed, or the type or class cannot be forwarded; see `queryOf`. */
  | 'unsupported'
  /** The forwarder is closed. */
  | 'closed'

/** Where an answer comes from; `stale`: its TTL has passed, and no upstream answers (RFC 8767). */
type AnswerSource = 'upstream' | 'cache' | 'stale'

/** The answer to a forwarded question, or why there is none. Records are shared and must not be changed. */
export type ForwardedAnswer =
  | { readonly fault: ForwardFault }
  | {
      readonly fault?: undefined
      readonly source: AnswerSource
      /** 0 (NOERROR) or 3 (NXDOMAIN). */
      readonly rcode: number
      /** The AD bit of the upstream. AA is to be cleared, RA to be set. */
      readonly isAuthentic: boolean
      /** The records of the name and of its chain of CNAME records, with their remaining TTLs. */
      readonly answers: readonly Answer[]
      /** Only SOA, NS and DNSSEC records. */
      readonly authorities: readonly Answer[]
    }
