import type { BufferPool } from './buffer-pool.ts'

/** Enough for most of what is said at once, and little for a connection that says nothing. */
const OWN_BYTES = 1 << 13

/**
 * Where one socket is read into, again and again. Who fills it has more to say, and gets a large
 * one until a read leaves room in it.
 */
export class ReadBuffer {
  readonly #pool: BufferPool
  readonly #own = Buffer.allocUnsafeSlow(OWN_BYTES)
  #large: Uint8Array | undefined

  constructor(pool: BufferPool) {
    this.#pool = pool
  }

  get current(): Uint8Array {
    return this.#large ?? this.#own
  }

  /** After a read of so many bytes, which nobody needs any more. */
  fit(length: number): void {
    if (length === this.current.length) this.#large ??= this.#pool.borrow()
    else if (length < OWN_BYTES) this.release()
  }

  release(): void {
    if (this.#large) this.#pool.giveBack(this.#large)
    this.#large = undefined
  }
}
