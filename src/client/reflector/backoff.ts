import type { Random } from '../../lib/random.ts'

export interface BackoffOptions {
  readonly random: Pick<Random, 'below'>
  /** Milliseconds: the largest first delay. */
  readonly baseMs: number
  /** Milliseconds: the largest delay. */
  readonly maxMs: number
}

/** Delays between failed attempts. */
export interface Backoff {
  /** Milliseconds to wait before the next attempt; grows until `reset`. `mostMs`: a largest delay below `maxMs`. */
  next(mostMs?: number): number
  /** Begins at the first delay again. */
  reset(): void
}

/**
 * Exponential backoff: the n-th delay lies between half of and the whole of
 * `min(maxMs, baseMs × 2ⁿ)`, so that nodes that failed together do not retry together.
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
