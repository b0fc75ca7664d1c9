import type { Socket } from 'node:net'

/**
 * One direction of a connection: from a source to a sink, at the speed of the slower one. What
 * the sink's kernel does not take at once keeps the source from being read.
 */
export class OneWay {
  readonly #source: Socket
  readonly #sink: Socket
  readonly #onMoved: (bytes: number) => void
  #isWaiting = false

  constructor(source: Socket, sink: Socket, onMoved: (bytes: number) => void) {
    this.#source = source
    this.#sink = sink
    this.#onMoved = onMoved
    source.once('end', () => sink.end())
  }

  /** Whether the sink has taken everything, so that the bytes may be overwritten. */
  get isClear(): boolean {
    return !this.#isWaiting
  }

  /** Passes on what the source sent. */
  pass(bytes: Uint8Array): void {
    this.#onMoved(bytes.length)
    this.#sink.write(bytes, this.#taken)
    if (this.#sink.writableLength === 0 || this.#isWaiting) return
    this.#isWaiting = true
    this.#source.pause()
  }

  readonly #taken = (): void => {
    if (!this.#isWaiting || this.#sink.writableLength > 0) return
    this.#isWaiting = false
    this.#onMoved(0)
    this.#source.resume()
  }
}
