import type { Clock } from '../../lib/clock.ts'
import { sleep } from '../../lib/sleep.ts'

const PATIENCE_MS = 3000

/**
 * Waits for what a server says to others when it ends, but not for long: they may
 * be away, and notice its end by themselves after a few seconds.
 */
export async function farewell(clock: Pick<Clock, 'after'>, said: Promise<void>): Promise<void> {
  const over = new AbortController()
  try {
    await Promise.race([said, sleep(clock, PATIENCE_MS, over.signal)])
  } finally {
    over.abort()
  }
}
