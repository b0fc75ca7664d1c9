import { DEFAULT_WINDOW_BYTES } from './frame.ts'

/**
 * How much a stream, or a session, may send. A peer without flow control sends neither windows nor
 * settings (client-go and every kubectl): then there is no limit but that of the connection.
 */
export class SendWindow {
  #limit = DEFAULT_WINDOW_BYTES
  #sent = 0

  constructor(limit: number = DEFAULT_WINDOW_BYTES) {
    this.#limit = limit
  }

  /** The number of bytes that may be sent now; if it is 0 or negative, none. */
  get rest(): number {
    return this.#limit - this.#sent
  }

  sent(bytes: number): void {
    this.#sent += bytes
  }

  granted(bytes: number): void {
    this.#limit += bytes
  }
}
