/** A limited number of large buffers, lent to sockets that receive much at the moment. */
export class BufferPool {
  readonly #bytes: number
  readonly #most: number
  readonly #free: Uint8Array[] = []
  #lent = 0

  constructor(bytes: number, most: number) {
    this.#bytes = bytes
    this.#most = most
  }

  /** Undefined: all are lent. */
  borrow(): Uint8Array | undefined {
    if (this.#lent === this.#most) return undefined
    this.#lent++
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.#bytes)
  }

  giveBack(buffer: Uint8Array): void {
    this.#lent--
    this.#free.push(buffer)
  }
}
