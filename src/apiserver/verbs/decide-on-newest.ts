import type { ServerContext } from '../context/server-context.ts'
import { type Persisted, Stale, type Written } from '../persist/persist.ts'
import type { ApiRequest } from '../request/api-request.ts'
import { storageKey } from '../resource/resource.ts'
import { StatusError } from '../status/status.ts'
import { awaitRetry, contended } from './await-retry.ts'
import { readCached, readNewest } from './read-newest.ts'

/** What becomes of an object, decided on one state of it. */
export interface Decision<T extends Persisted> {
  /** The client names the version that it means: another one is refused at once. */
  readonly isConditional: boolean
  readonly decide: (before: Written) => Promise<T | StatusError | Stale>
}

/**
 * What `decide` makes of the object as the newest revision has it; undefined
 * when there is none. It decides on what the cache shows first, because a write
 * proves that this was the newest; any other outcome is confirmed with the store.
 * A write that loses to another one is decided again on what that left, until the
 * request's deadline. Writers of one object take turns, except those that name a
 * version: the writers before them would only make them fail later.
 */
export async function decideOnNewest<T extends Persisted>(
  context: ServerContext,
  request: ApiRequest,
  decision: Decision<T>,
): Promise<T | StatusError | undefined> {
  const cached = readCached(context, request)
  if (decision.isConditional) return settle(context, request, decision, cached)
  const key = storageKey(request.served.resource, request.namespace, request.name)
  const turn = await context.turns.take(key, request.deadline)
  if (turn === undefined) return contended(request)
  let left: Written | undefined
  try {
    const guess = newerOf(readCached(context, request), turn.newest)
    const outcome = await settle(context, request, decision, guess)
    if (isProof(outcome)) left = outcome
    return outcome
  } finally {
    turn.end(left)
  }
}

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

/** A transaction that was committed required the revision that was decided on. */
function isProof<T extends Persisted>(outcome: T | StatusError | Stale | undefined): outcome is T {
  if (outcome === undefined || outcome instanceof Stale || outcome instanceof StatusError)
    return false
  return outcome.isCommitted
}

function newerOf(cached: Written | undefined, left: Written | undefined): Written | undefined {
  if (cached === undefined || left === undefined) return cached ?? left
  return left.modRevision > cached.modRevision ? left : cached
}
