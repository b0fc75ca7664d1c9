import type { Clock } from '../../lib/clock.ts'

export interface AmplificationLimitOptions {
  readonly clock: Clock
  /** Bytes a second that a client address gets in datagrams longer than twice its questions. */
  readonly bytesPerSecond: number
}

const SECOND_MS = 1_000
/** A response that is at most this many times as long as its question is of no use to an attacker. */
const HARMLESS_FACTOR = 2
/** The number of addresses that are counted separately within a second; further ones share one count. */
const MAX_CLIENTS = 16_384

/**
 * Limits how much a forged source address can be flooded, by limiting long datagrams to each address. A client
 * above the limit gets truncated responses and repeats its questions over TCP, which proves its address.
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
