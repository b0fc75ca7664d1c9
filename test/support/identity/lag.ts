import type { Reply } from '../consistency/caller.ts'

/** The longest wait for the status. */
const LIMIT_MS = 60_000

/**
 * Repeats a request until it has the wanted status; resolves to the milliseconds since `since` (`performance.now()`),
 * by default since the call.
 * @throws Error with the last answer after a minute
 */
export async function lagUntil(
  status: number,
  send: () => Promise<Reply>,
  since = performance.now(),
): Promise<number> {
  for (;;) {
    const answer = await send()
    const elapsed = performance.now() - since
    if (answer.status === status) return elapsed
    if (elapsed > LIMIT_MS) {
      throw new Error(
        `no ${status} in a minute, but ${answer.status}: ${JSON.stringify(answer.body)}`,
      )
    }
  }
}

/** The median of several measurements, so that a pause of a busy machine does not decide. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
