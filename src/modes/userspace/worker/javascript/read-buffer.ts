import type { BufferPool } from './buffer-pool.ts'

/** Enough for most reads, and little memory for an idle connection. */
const OWN_BYTES = 1 << 13

/**
 * The buffer into which one socket is read again and again. A socket that fills it has more bytes
 * waiting, and gets a large buffer until a read leaves space in it.
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

  /** After a read of so many bytes that have been passed on. */
  fit(length: number): void {
    if (length === this.current.length) this.#large ??= this.#pool.borrow()
    else if (length < OWN_BYTES) this.release()
  }

  release(): void {
    if (this.#large) this.#pool.giveBack(this.#large)
    this.#large = undefined
  }
}
