import type { ServerResponse } from 'node:http'
import type { Clock } from '../../lib/clock.ts'

export interface RequestDeadlineOptions {
  readonly clock: Clock
  /** Milliseconds from now. */
  readonly timeoutMs: number
  /** The response to the request; absent: the server itself makes the request. */
  readonly response?: ServerResponse
}

/**
 * The end of the work on one request: when its timeout has passed or its client has disconnected. It costs only
 * two numbers until its signal is read, because most requests never wait.
 */
export class RequestDeadline {
  readonly #options: RequestDeadlineOptions
  readonly #startedAt: number
  #signal: AbortSignal | undefined

  constructor(options: RequestDeadlineOptions) {
    this.#options = options
    this.#startedAt = options.clock.now()
  }

  /** Aborted when work on the request must stop. */
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
