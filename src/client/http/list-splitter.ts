import { NodeProxyError } from '../../lib/error.ts'
import { joinedText } from './line-splitter.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const BLANK = 0x20
const ITEMS = 'items'
const ENVELOPE_LIMIT = 1024 * 1024

export interface ListSplitterOptions {
  /** The maximum number of bytes of one item; a larger one is dropped. */
  readonly itemLimit: number
  /** Receives the JSON text of each element of `items`. */
  onItem(text: string): void
  /** Called for each dropped item. */
  onOversized(): void
}

/**
 * Splits the JSON text of a list into its items while it arrives. Neither the page nor its object tree is ever in
 * memory as a whole, so a server that ignores `limit` costs no more memory than one that sends pages. Reads only
 * brackets and strings; the receiver parses each item.
 */
export class ListSplitter {
  readonly #options: ListSplitterOptions
  readonly #scanner = new ObjectScanner()
  #position: 'envelope' | 'between' | 'item' = 'envelope'
  #envelope: Uint8Array[] = []
  #envelopeSize = 0
  #item: Uint8Array[] = []
  #itemSize = 0
  #depth = 0
  #inString = false
  #escaped = false
  /** The last string directly in the list object: a key, which may be `items`. */
  #lastString = ''
  /** The last character directly in the list object that is not white space. */
  #lastByte = 0

  constructor(options: ListSplitterOptions) {
    this.#options = options
  }

  /** Reads the next bytes. @throws NP_CLIENT_GARBAGE if this is not a list, NP_CLIENT_TOO_LARGE */
  push(chunk: Uint8Array): void {
    let at = 0
    while (at < chunk.length) {
      if (this.#position === 'item') at = this.#scanItem(chunk, at)
      else if (this.#position === 'between') at = this.#scanBetween(chunk, at)
      else at = this.#scanEnvelope(chunk, at)
    }
  }

  /** The list without its items (`items` is empty or null). To be called once, at the end. @throws NP_CLIENT_GARBAGE */
  end(): unknown {
    const text = joinedText(this.#envelope)
    try {
      return JSON.parse(text)
    } catch (cause) {
      const message = `the list is cut off or not JSON (${this.#envelopeSize} bytes)`
      throw new NodeProxyError('NP_CLIENT_GARBAGE', message, { cause })
    }
  }

  #scanItem(chunk: Uint8Array, start: number): number {
    const end = this.#scanner.scan(chunk, start)
    const piece = chunk.subarray(start, end < 0 ? chunk.length : end)
    this.#itemSize += piece.length
    if (this.#itemSize <= this.#options.itemLimit) this.#item.push(piece)
    else this.#item = []
    if (end < 0) return chunk.length
    this.#finishItem()
    return end
  }

  #finishItem(): void {
    const lost = this.#itemSize > this.#options.itemLimit
    const text = joinedText(this.#item)
    this.#item = []
    this.#itemSize = 0
    this.#position = 'between'
    if (lost) this.#options.onOversized()
    else this.#options.onItem(text)
  }

  #scanBetween(chunk: Uint8Array, start: number): number {
    let at = start
    while (at < chunk.length && (chunk[at]! <= BLANK || chunk[at] === COMMA)) at++
    if (at === chunk.length) return at
    if (chunk[at] === OPEN_BRACE) this.#position = 'item'
    else if (chunk[at] === CLOSE_BRACKET) this.#position = 'envelope'
    else throw new NodeProxyError('NP_CLIENT_GARBAGE', 'an item of the list is not an object')
    return at
  }

  #scanEnvelope(chunk: Uint8Array, start: number): number {
    let at = start
    while (at < chunk.length && this.#position === 'envelope') {
      const byte = chunk[at++]!
      if (this.#inString) this.#string(byte)
      else if (byte > BLANK) this.#structure(byte)
    }
    this.#envelopeSize += at - start
    if (this.#envelopeSize > ENVELOPE_LIMIT) {
      const message = `the list has more than ${ENVELOPE_LIMIT} bytes besides its items`
      throw new NodeProxyError('NP_CLIENT_TOO_LARGE', message)
    }
    this.#envelope.push(chunk.subarray(start, at))
    return at
  }

  #string(byte: number): void {
    if (this.#escaped) this.#escaped = false
    else if (byte === BACKSLASH) this.#escaped = true
    else if (byte === QUOTE) this.#inString = false
    else if (this.#depth === 1 && this.#lastString.length <= ITEMS.length) {
      this.#lastString += String.fromCharCode(byte)
    }
  }

  #structure(byte: number): void {
    if (byte === QUOTE) {
      this.#inString = true
      if (this.#depth === 1) this.#lastString = ''
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      const key = this.#depth === 1 && this.#lastByte === COLON && this.#lastString === ITEMS
      if (byte === OPEN_BRACKET && key) this.#position = 'between'
      this.#depth++
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) this.#depth--
    if (this.#depth === 1) this.#lastByte = byte
  }
}

/** Finds the end of a JSON object in a stream of bytes. */
class ObjectScanner {
  #depth = 0
  #inString = false
  #escaped = false

  /** The offset after the object's last brace, or -1 when it goes on in the next chunk. */
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
