const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/** Finds the end of a JSON object in a stream of bytes. */
export class ObjectScanner {
  #depth = 0
  #inString = false
  #escaped = false

  /** The offset after the object's last brace, or -1 if the object continues in the next chunk. */
  scan(chunk: Uint8Array, start: number): number {
    const length = chunk.length
    let depth = this.#depth
    let at = this.#escaped || this.#inString ? this.#skipString(chunk, start) : start
    while (at < length) {
      const byte = chunk[at++]!
      if (byte === QUOTE) {
        this.#inString = true
        at = this.#skipString(chunk, at)
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++
      else if ((byte === CLOSE_BRACE || byte === CLOSE_BRACKET) && --depth === 0) {
        this.#depth = 0
        return at
      }
    }
    this.#depth = depth
    return -1
  }

  #skipString(chunk: Uint8Array, start: number): number {
    let at = start
    let escaped = this.#escaped
    for (; at < chunk.length; at++) {
      const byte = chunk[at]
      if (escaped) escaped = false
      else if (byte === BACKSLASH) escaped = true
      else if (byte === QUOTE) {
        this.#inString = false
        this.#escaped = false
        return at + 1
      }
    }
    this.#escaped = escaped
    return at
  }
}
