import { sleep } from '../../lib/clock.ts'
import type { ServerContext } from '../context/server-context.ts'
import type { Written } from '../encoding/codec.ts'
import { type ApiRequest, subjectOf } from '../request/api-request.ts'
import { storageKey } from '../resource/resource.ts'
import { StatusError, tooManyRequests } from '../status/status.ts'
import { type Persisted, Stale } from './persist.ts'
import { readCached, readNewest } from './read-newest.ts'

/** A decision about an object, based on one state of it. */
interface Decision<T extends Persisted> {
  /** The client names a version: if the object has another one, the request is refused at once. */
  readonly isConditional: boolean
  readonly decide: (before: Written) => Promise<T | StatusError | Stale>
}

/**
 * The result of `decide` for the newest state of an object; undefined: the object does not exist. `decide`
 * first gets the state in the cache: if a write based on it succeeds, it was the newest; any other result is
 * confirmed with the store. If another write comes first, `decide` is called again with the new state, until
 * the deadline of the request. Writers of one object take turns, except those that name a version, for which
 * waiting would only delay the failure.
 */
export async function decideOnNewest<T extends Persisted>(
  context: ServerContext,
  request: ApiRequest,
  decision: Decision<T>,
): Promise<T | StatusError | undefined> {
  if (decision.isConditional) {
    return settle(context, request, decision, readCached(context, request))
  }
  const key = storageKey(request.served.resource, request.namespace, request.name)
  const turn = await context.turns.take(key, request.deadline)
  if (turn === undefined) return contended(request)
  let written: Written | undefined
  try {
    const guess = newerOf(readCached(context, request), turn.newest)
    const outcome = await settle(context, request, decision, guess)
    if (isProof(outcome)) written = outcome
    return outcome
  } finally {
    turn.end(written)
  }
}

/** Decides on `guess`, which is probably the newest state, then on the state in the store unless the first outcome is a proof. */
async function settle<T extends Persisted>(
  context: ServerContext,
  request: ApiRequest,
  { decide }: Decision<T>,
  guess: Written | undefined,
): Promise<T | StatusError | undefined> {
  let outcome = guess && (await decide(guess))
  if (!isProof(outcome) && !(outcome instanceof Stale)) {
    const newest = await readNewest(context, request)
    if (newest === undefined || newest instanceof StatusError) return newest
    if (outcome === undefined || newest.modRevision !== guess?.modRevision) {
      outcome = await decide(newest)
    }
  }
  for (let losses = 1; outcome instanceof Stale; losses++) {
    if (outcome.newest === undefined) return undefined
    const late = await awaitRetry(context, request, losses)
    outcome = late ?? (await decide(outcome.newest))
  }
  return outcome
}

/**
 * Whether an outcome proves that the decision was based on the newest state: a committed transaction was
 * conditional on that revision.
 */
function isProof<T extends Persisted>(outcome: T | StatusError | Stale | undefined): outcome is T {
  if (outcome === undefined || outcome instanceof Stale || outcome instanceof StatusError)
    return false
  return outcome.isCommitted
}

function newerOf(a: Written | undefined, b: Written | undefined): Written | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return b.modRevision > a.modRevision ? b : a
}

/** The longest pause in milliseconds. With few replicas a longer pause would only let the other replicas win. */
const MAX_PAUSE_MS = 32

/**
 * Waits before the retry of a write that lost against another replica. The first retry is immediate; later ones
 * wait for a random pause whose limit doubles. 429 when the request's deadline has passed: nothing was written,
 * so the client may repeat it.
 */
export async function awaitRetry(
  context: ServerContext,
  request: ApiRequest,
  losses: number,
): Promise<StatusError | undefined> {
  const { signal } = request.deadline
  if (losses > 1) {
    const bound = Math.min(2 ** losses, MAX_PAUSE_MS)
    await sleep(context.clock, 1 + context.random.below(bound), signal)
  }
  return signal.aborted ? contended(request) : undefined
}

/** 429 for a write that did not get its turn before its deadline. */
export function contended(request: ApiRequest): StatusError {
  const { plural, name } = subjectOf(request)
  const what = `${plural} ${JSON.stringify(name)}`
  const why = 'other clients changed it during the whole time of the request'
  return tooManyRequests(`${what} was not written: ${why}, please try again later`, 1)
}
