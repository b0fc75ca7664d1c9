import { HEADER_BYTES, type Opening } from './said.ts'

export interface HeardReport {
  readonly opening: Opening | undefined
  /** The number of bytes of payload. */
  readonly bytes: number
  /** Whether everything that was announced arrived, and nothing else; or nothing at all. */
  readonly isWhole: boolean
  /** The first difference from what was sent. */
  readonly fault: string | undefined
}

/** Compares what one end receives with what the other end sent, byte by byte and by position. */
export class Heard {
  readonly #pool: Buffer
  #header: Buffer = Buffer.alloc(0)
  #opening: Opening | undefined
  #bytes = 0
  #fault: string | undefined

  constructor(pool: Buffer) {
    this.#pool = pool
  }

  get report(): HeardReport {
    const isAll = this.#opening !== undefined && this.#bytes === this.#opening.length
    const isNothing = this.#opening === undefined && this.#header.length === 0
    return {
      opening: this.#opening,
      bytes: this.#bytes,
      fault: this.#fault,
      isWhole: this.#fault === undefined && (isAll || isNothing),
    }
  }

  take(chunk: Buffer): void {
    if (this.#opening) this.#compare(chunk, this.#opening)
    else this.#open(Buffer.concat([this.#header, chunk]))
  }

  #open(bytes: Buffer): void {
    this.#header = bytes
    if (bytes.length < HEADER_BYTES) return
    const [who = 0, serial = 0, offset = 0, length = 0] = [0, 4, 8, 12].map((at) =>
      bytes.readUInt32BE(at),
    )
    this.#opening = { who, serial, offset, length }
    this.#compare(bytes.subarray(HEADER_BYTES), this.#opening)
  }

  #compare(chunk: Buffer, { offset, length }: Opening): void {
    const at = this.#bytes
    this.#bytes += chunk.length
    if (this.#fault !== undefined) return
    if (this.#bytes > length) this.#fault = `${this.#bytes} bytes of ${length}`
    else if (!chunk.equals(this.#pool.subarray(offset + at, offset + at + chunk.length))) {
      this.#fault = `other bytes from ${at} to ${this.#bytes} of ${length}`
    }
  }
}
