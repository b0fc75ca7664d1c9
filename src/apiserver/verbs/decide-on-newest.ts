import { type ApiRequest, subjectOf } from '../api-request.ts'
import { type Persisted, STALE, type Written } from '../persist.ts'
import { conflict } from '../refusals.ts'
import type { Serving } from '../serving.ts'
import { Refusal } from '../status.ts'
import { readCached, readNewest } from './read-newest.ts'

/** How often an object that others write too is decided on again. */
const ATTEMPTS = 20

/**
 * What `decide` makes of the object as the newest revision has it; undefined
 * when there is none. It decides on what the cache shows first, because a write
 * proves that this was the newest; of any other outcome the store is asked.
 */
export async function decideOnNewest<T extends Pick<Persisted, 'isCommitted'>>(
  serving: Serving,
  request: ApiRequest,
  decide: (before: Written) => Promise<T | Refusal | typeof STALE>,
): Promise<T | Refusal | undefined> {
  const guess = readCached(serving, request)
  const guessed = guess && (await decide(guess))
  if (isProof(guessed)) return guessed
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const before = await readNewest(serving, request)
    if (before === undefined || before instanceof Refusal) return before
    const isSame = attempt === 0 && before.modRevision === guess?.modRevision
    const outcome = isSame && guessed !== undefined ? guessed : await decide(before)
    if (outcome !== STALE) return outcome
  }
  return conflict(subjectOf(request))
}

/** A transaction that was committed required the revision that was decided on. */
function isProof<T extends Pick<Persisted, 'isCommitted'>>(
  outcome: T | Refusal | typeof STALE | undefined,
): outcome is T {
  if (outcome === undefined || outcome === STALE || outcome instanceof Refusal) return false
  return outcome.isCommitted
}
