import type { ServerResponse } from 'node:http'
import type { Clock } from '../../lib/clock.ts'

export interface RequestDeadlineOptions {
  readonly clock: Clock
  /** Milliseconds from now. */
  readonly timeoutMs: number
  /** Where the answer goes; absent: the server makes the request of itself. */
  readonly response?: ServerResponse
}

/**
 * Until when the server works on one request: its timeout has passed, or its
 * client has disconnected. Costs two numbers until its signal is read: most requests never
 * wait for anything.
 */
export class RequestDeadline {
  readonly #options: RequestDeadlineOptions
  readonly #startedAt: number
  #signal: AbortSignal | undefined

  constructor(options: RequestDeadlineOptions) {
    this.#options = options
    this.#startedAt = options.clock.now()
  }

  /** Aborted when nothing more must be done for the request. */
  get signal(): AbortSignal {
    this.#signal ??= this.#watch()
    return this.#signal
  }

  #watch(): AbortSignal {
    const { clock, timeoutMs, response } = this.#options
    const controller = new AbortController()
    const rest = this.#startedAt + timeoutMs - clock.now()
    const cancel = clock.after(Math.min(Math.max(rest, 0), timeoutMs), () => controller.abort())
    const end = (): void => {
      cancel()
      controller.abort()
    }
    if (response?.destroyed) end()
    else response?.once('close', end)
    return controller.signal
  }
}
