import type { Random } from '../../lib/random.ts'

export interface BackoffOptions {
  readonly random: Pick<Random, 'below'>
  /** The upper limit of the first delay, in milliseconds. */
  readonly baseMs: number
  /** The upper limit of all delays, in milliseconds. */
  readonly maxMs: number
}

/** Delays between failed attempts. */
export interface Backoff {
  /** Milliseconds to wait before the next attempt; grows until `reset`. `mostMs`: an upper limit below `maxMs`. */
  next(mostMs?: number): number
  /** Starts again with the first delay. */
  reset(): void
}

/**
 * Exponential backoff: the n-th delay is between half and all of `min(maxMs, baseMs × 2ⁿ)`, chosen at random, so that
 * nodes that failed together do not retry together.
 */
export function createBackoff({ random, baseMs, maxMs }: BackoffOptions): Backoff {
  let attempts = 0
  return {
    next(mostMs = maxMs) {
      const ceiling = Math.min(maxMs, mostMs, baseMs * 2 ** Math.min(attempts, 30))
      attempts++
      const half = Math.ceil(ceiling / 2)
      return half + random.below(ceiling - half + 1)
    },
    reset() {
      attempts = 0
    },
  }
}
