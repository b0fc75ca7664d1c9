import { hash } from 'node:crypto'
import type { Clock } from '../../lib/clock.ts'

/** Tokens that are kept; the one that was used longest ago makes way for another. */
const MAX_TOKENS = 20_000

/**
 * What tokens said when their signature was verified, found by the hash of the token: neither a
 * dump of the memory nor a timing shows one. A token that has expired is not found.
 */
export class VerifiedTokens<Known> {
  readonly #clock: Clock
  readonly #known = new Map<string, { readonly value: Known; readonly expires: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get(token: string): Known | undefined {
    const key = hashOf(token)
    const found = this.#known.get(key)
    if (found === undefined) return undefined
    this.#known.delete(key)
    if (found.expires <= this.#clock.now() / 1000) return undefined
    this.#known.set(key, found)
    return found.value
  }

  /** `expires`: seconds since 1970; undefined: never. */
  set(token: string, value: Known, expires = Number.POSITIVE_INFINITY): void {
    this.#known.set(hashOf(token), { value, expires })
    if (this.#known.size <= MAX_TOKENS) return
    for (const oldest of this.#known.keys()) {
      this.#known.delete(oldest)
      break
    }
  }
}

function hashOf(token: string): string {
  return hash('sha256', token, 'base64')
}
