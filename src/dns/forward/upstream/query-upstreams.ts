import { type Clock, sleep } from '../../../lib/clock.ts'
import type { Random } from '../../../lib/random.ts'
import type { Query } from '../message/query.ts'
import type { DiscardReason, UpstreamAnswer } from '../message/read-reply.ts'
import { type AttemptFault, runAttempt, WITHOUT_REPLY } from './attempt.ts'
import type { Upstream } from './upstream.ts'
import type { UpstreamHealth } from './upstream-health.ts'

/** The times at which attempts start and end. */
export interface AttemptSchedule {
  /** Milliseconds until the next attempt begins; it begins at once when the last one failed. Less than `totalMs`. */
  readonly attemptMs: number
  /** The number of attempts, over all upstreams in turn. */
  readonly maxAttempts: number
  /** Milliseconds for the whole question. */
  readonly totalMs: number
}

/** One attempt that has ended, or was overtaken by the next one (`timeout`). */
export interface AttemptResult {
  readonly upstream: Upstream
  readonly result: 'answered' | 'timeout' | AttemptFault
  readonly milliseconds: number
}

/** Receives what metrics need. */
export interface UpstreamObserver {
  attempted(result: AttemptResult): void
  /** A message from an upstream's address was no reply to the query: forged, late or damaged. */
  discarded(upstream: Upstream, reason: DiscardReason): void
}

/** The dependencies of a query. */
export interface UpstreamContext {
  readonly schedule: AttemptSchedule
  readonly health: UpstreamHealth
  readonly clock: Clock
  readonly random: Pick<Random, 'below'>
  readonly observer: UpstreamObserver
}

/**
 * The first answer of any upstream; undefined when none answers in time, or the signal is aborted. A late
 * attempt continues in parallel to the next one, so the answer of an upstream that needs longer than
 * `attemptMs` is also used. All sockets are closed when the promise resolves.
 */
export async function queryUpstreams(
  query: Query,
  context: UpstreamContext,
  signal: AbortSignal,
): Promise<UpstreamAnswer | undefined> {
  const { clock, schedule } = context
  const end = new AbortController()
  const first = Promise.withResolvers<UpstreamAnswer | undefined>()
  const abort = (): void => first.resolve(undefined)
  signal.addEventListener('abort', abort, { once: true })
  const cancel = clock.after(schedule.totalMs, abort)
  if (signal.aborted) abort()
  const all = runAttempts(query, context, { signal: end.signal, onAnswer: first.resolve })
  all.then(abort, first.reject)
  try {
    return await first.promise
  } finally {
    cancel()
    signal.removeEventListener('abort', abort)
    end.abort('over')
    await Promise.allSettled([all])
  }
}

interface Race {
  readonly signal: AbortSignal
  readonly onAnswer: (answer: UpstreamAnswer) => void
}

/**
 * Starts attempt after attempt until one is answered; resolves when all have ended. An upstream that was late may
 * have lost the message and is queried again; one that failed or refused is not.
 */
async function runAttempts(query: Query, context: UpstreamContext, race: Race): Promise<void> {
  const { schedule, clock, health } = context
  const next = [...health.order()]
  const started: Promise<boolean>[] = []
  for (let index = 0; index < schedule.maxAttempts && !race.signal.aborted; index++) {
    const upstream = next.shift()
    if (upstream === undefined) break
    const sentAt = clock.now()
    const attempt = observedAttempt({ upstream, query, sentAt }, context, race)
    started.push(attempt)
    const late = sleep(clock, schedule.attemptMs, race.signal).then(() => 'late' as const)
    const outcome = await Promise.race([attempt, late])
    if (outcome === true) break
    if (outcome === 'late' && !race.signal.aborted) {
      report({ upstream, result: 'timeout', sentAt }, context)
      next.push(upstream)
    }
  }
  await Promise.all(started)
}

interface StartedAttempt {
  readonly upstream: Upstream
  readonly query: Query
  readonly sentAt: number
}

/** Runs an attempt. Returns whether it got an answer, which `race` then holds. */
async function observedAttempt(
  { upstream, query, sentAt }: StartedAttempt,
  context: UpstreamContext,
  race: Race,
): Promise<boolean> {
  const { random, observer } = context
  const onDiscard = (reason: DiscardReason): void => observer.discarded(upstream, reason)
  const { signal } = race
  const answer = await runAttempt({ upstream, query, random, signal, onDiscard })
  const isAnswer = typeof answer !== 'string'
  if (isAnswer) race.onAnswer(answer)
  if (answer !== 'aborted') {
    report({ upstream, result: isAnswer ? 'answered' : answer, sentAt }, context)
  }
  return isAnswer
}

function report(
  { upstream, result, sentAt }: Omit<AttemptResult, 'milliseconds'> & { sentAt: number },
  { clock, health, observer }: UpstreamContext,
): void {
  observer.attempted({ upstream, result, milliseconds: clock.now() - sentAt })
  if (result !== 'timeout' && !WITHOUT_REPLY.has(result as AttemptFault)) health.answered(upstream)
  else health.failed(upstream, sentAt)
}
