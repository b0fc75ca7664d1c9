const LENGTH_BYTES = 2

/** Cuts a stream of bytes into messages: each has its length, of two bytes, before it (RFC 1035 §4.2.2). */
export class MessageFramer {
  #pending: Buffer = Buffer.alloc(0)

  /** The messages that are complete with these bytes, in order. */
  push(bytes: Buffer): readonly Buffer[] {
    this.#pending = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes])
    const messages: Buffer[] = []
    while (this.#pending.length >= LENGTH_BYTES) {
      const end = LENGTH_BYTES + this.#pending.readUInt16BE(0)
      if (this.#pending.length < end) break
      messages.push(this.#pending.subarray(LENGTH_BYTES, end))
      this.#pending = this.#pending.subarray(end)
    }
    return messages
  }
}

/** A message with its length before it. */
export function framed(message: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(LENGTH_BYTES + message.length)
  frame.writeUInt16BE(message.length, 0)
  message.copy(frame, LENGTH_BYTES)
  return frame
}
