import { sleep } from '../../lib/clock.ts'
import type { ServerContext } from '../context/server-context.ts'
import { type ApiRequest, subjectOf } from '../request/api-request.ts'
import type { StatusError } from '../status/status.ts'
import { tooManyRequests } from '../status/status-errors.ts'

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
