import type { Random } from '../../lib/random.ts'

export interface BackoffOptions {
  readonly random: Pick<Random, 'below'>
  readonly baseMs: number
  readonly maxMs: number
}

export interface Backoff {
  /** Milliseconds to wait before the next attempt; grows until `reset`. */
  next(): number
  reset(): void
}

/**
 * Exponential backoff: the n-th delay lies between half of and the whole of
 * `min(maxMs, baseMs × 2ⁿ)`, so that nodes that failed together return apart.
 */
export function createBackoff({ random, baseMs, maxMs }: BackoffOptions): Backoff {
  let attempts = 0
  return {
    next() {
      const ceiling = Math.min(maxMs, baseMs * 2 ** Math.min(attempts, 30))
      attempts++
      const half = Math.ceil(ceiling / 2)
      return half + random.below(ceiling - half + 1)
    },
    reset() {
      attempts = 0
    },
  }
}
