import { systemClock } from '../../lib/clock.ts'
import { systemRandom } from '../../lib/random.ts'
import { AnswerCache, type CachedAnswer } from './cache/answer-cache.ts'
import { Flights } from './flights.ts'
import { type ForwardObserver, noForwardObserver } from './forward-observer.ts'
import { DEFAULT_LIMITS, type ForwarderOptions } from './forward-options.ts'
import type { ForwardedAnswer, ForwardFault } from './forwarded-answer.ts'
import { type Query, queryOf } from './message/query.ts'
import type { ForwardQuestion } from './message/question.ts'
import type { UpstreamAnswer } from './message/read-reply.ts'
import { lowerCase } from './message/wire-name.ts'
import { presentAnswer } from './present-answer.ts'
import { queryUpstreams, type UpstreamContext } from './upstream/query-upstreams.ts'
import {
  type AwayUpstream,
  type UpstreamChange,
  UpstreamHealth,
} from './upstream/upstream-health.ts'

/** Answers questions with the help of other DNS servers. */
export interface Forwarder {
  /** Never waits longer than `totalMs`. Rejects only on a bug. */
  query(question: ForwardQuestion): Promise<ForwardedAnswer>
  /** Present numbers, for gauges. */
  usage(): ForwarderUsage
  /** Upstreams that do not answer, as the last questions showed. */
  away(): readonly AwayUpstream[]
  /** Ends the questions in flight, which then have the fault `unanswered`; no socket is open afterwards. */
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
 * A question is answered from the cache while the TTL of its answer lasts; it is keyed by name without case, type,
 * class, DO and CD. Otherwise the upstreams are queried, once for all clients that have the question
 * at that time: see `queryUpstreams` for the order of attempts, `udpExchange` for what protects from forged replies,
 * `relevantRecords` for what is taken out of a reply. Negative answers are cached by their SOA record (RFC 2308).
 *
 * An expired answer is kept for `staleMs` and used when no upstream answers, when none has answered for
 * `staleAfterMs`, when too many questions are in flight, and at once while all upstreams are known to be away; the
 * upstreams are queried all the same, so that the cache is right when they are back (RFC 8767). A question that no
 * upstream answered is not forwarded again for `failureMs`.
 *
 * Everything is limited: questions in flight, attempts, time, sockets, the entries of the cache and their memory.
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
    const { clock = systemClock, random = systemRandom, observer = noForwardObserver } = options
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

  /** A promise that is resolved while no upstream is expected to answer. */
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
