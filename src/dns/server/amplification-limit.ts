import type { Clock } from '../../lib/clock.ts'

export interface AmplificationLimitOptions {
  readonly clock: Clock
  /** Bytes a second that a client address gets in datagrams longer than twice its questions. */
  readonly bytesPerSecond: number
}

const SECOND_MS = 1_000
/** A response of at most so many times its question is worth nothing to an attacker. */
const HARMLESS_FACTOR = 2
/** Addresses that are counted in a second; further ones share one count. */
const MAX_CLIENTS = 16_384

/**
 * Bounds what a forged source address can be flooded with: long datagrams to one address. A client that gets
 * no more of them is sent a truncated one, and so comes back over TCP, where its address is proved.
 */
export class AmplificationLimit {
  readonly #options: AmplificationLimitOptions
  readonly #sent = new Map<string, number>()
  #second = 0

  constructor(options: AmplificationLimitOptions) {
    this.#options = options
  }

  /** Whether a datagram of `response` bytes may answer one of `question` bytes from `client`. */
  allows(client: string, question: number, response: number): boolean {
    if (response <= question * HARMLESS_FACTOR) return true
    const second = Math.floor(this.#options.clock.now() / SECOND_MS)
    if (second !== this.#second) {
      this.#second = second
      this.#sent.clear()
    }
    const key = this.#sent.size < MAX_CLIENTS || this.#sent.has(client) ? client : ''
    const sent = (this.#sent.get(key) ?? 0) + response
    this.#sent.set(key, sent)
    return sent <= this.#options.bytesPerSecond
  }
}
