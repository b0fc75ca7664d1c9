import type { Reply } from '../request/api-request.ts'
import { MAX_BODY_BYTES } from './event/shown-body.ts'

/** Keeps the bytes of an answer while they are sent, as long as they are few enough to be shown. */
export class ReplyCapture {
  /** The answer to send instead of the given one: the same bytes. */
  readonly reply: Reply
  #chunks: Buffer[] = []
  #length = 0
  #isWhole = false

  constructor(reply: Reply) {
    const { body } = reply
    if (Array.isArray(body)) {
      for (const chunk of body as readonly Buffer[]) this.#keep(chunk)
      this.#isWhole = true
      this.reply = reply
    } else this.reply = { ...reply, body: this.#passing(body) }
  }

  /** All bytes; `cut`: there were too many, or they were not all sent. */
  get bytes(): Buffer | 'cut' {
    const isKept = this.#isWhole && this.#length <= MAX_BODY_BYTES
    return isKept ? Buffer.concat(this.#chunks) : 'cut'
  }

  *#passing(body: Iterable<Buffer>): Generator<Buffer> {
    for (const chunk of body) {
      this.#keep(chunk)
      yield chunk
    }
    this.#isWhole = true
  }

  #keep(chunk: Buffer): void {
    this.#length += chunk.length
    if (this.#length > MAX_BODY_BYTES) this.#chunks = []
    else this.#chunks.push(chunk)
  }
}
