import type { Clock } from '../../lib/clock.ts'

const MINUTE_MS = 60_000

export interface RefusedClientsOptions {
  readonly clock: Clock
  /** Receives what the operator should know, in a sentence. */
  readonly onWarning: (warning: string) => void
}

/** Reports clients of other networks, at most once a minute: often it is a network that the configuration lacks. */
export class RefusedClients {
  readonly #options: RefusedClientsOptions
  #next = Number.NEGATIVE_INFINITY
  #unreported = 0

  constructor(options: RefusedClientsOptions) {
    this.#options = options
  }

  /** Takes the address of a client that was refused, as a socket reports it. */
  add(address: string): void {
    const { clock, onWarning } = this.#options
    this.#unreported += 1
    const now = clock.now()
    if (now < this.#next) return
    this.#next = now + MINUTE_MS
    onWarning(
      `${address} is in none of the networks of dns.clientNetworks, and is refused (messages of such clients since the last warning: ${this.#unreported}); add its network there if it should be answered`,
    )
    this.#unreported = 0
  }
}
