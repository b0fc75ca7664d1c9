/** A limited number of large buffers, lent to sockets that are receiving much. */
export class BufferPool {
  readonly #bytes: number
  readonly #max: number
  readonly #free: Uint8Array[] = []
  #lent = 0

  constructor(bytes: number, max: number) {
    this.#bytes = bytes
    this.#max = max
  }

  /** Undefined if all are lent. */
  borrow(): Uint8Array | undefined {
    if (this.#lent === this.#max) return undefined
    this.#lent++
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.#bytes)
  }

  giveBack(buffer: Uint8Array): void {
    this.#lent--
    this.#free.push(buffer)
  }
}

/** Enough for most reads, and little memory for an idle connection. */
const OWN_BYTES = 1 << 13

/**
 * The buffer into which one socket is read repeatedly. A socket that fills it has more bytes waiting; it gets a large
 * buffer, until a read has fewer bytes than its own buffer holds.
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

  /** Called after a read of `length` bytes that have been passed on. */
  fit(length: number): void {
    if (length === this.current.length) this.#large ??= this.#pool.borrow()
    else if (length < OWN_BYTES) this.release()
  }

  release(): void {
    if (this.#large) this.#pool.giveBack(this.#large)
    this.#large = undefined
  }
}
