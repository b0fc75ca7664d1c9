import { type Clock, sleep } from '../../lib/clock.ts'

const TIMEOUT_MS = 3000

/**
 * Waits for the last requests of a stopping server, three seconds at most: the peers may be unreachable, and
 * they notice its end by themselves after a few seconds.
 */
export async function waitBriefly(
  clock: Pick<Clock, 'after'>,
  requests: Promise<void>,
): Promise<void> {
  const over = new AbortController()
  try {
    await Promise.race([requests, sleep(clock, TIMEOUT_MS, over.signal)])
  } finally {
    over.abort()
  }
}
