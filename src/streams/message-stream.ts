import { isUtf8 } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { Duplex } from 'node:stream'
import { type Clock, systemClock } from '../lib/clock.ts'
import { NodeProxyError } from '../lib/error.ts'
import { quote } from '../lib/quote.ts'

/** Close codes that no peer may send (RFC 6455, section 7.4). */
const RESERVED_CODES = new Set([1004, 1005, 1006, 1015])
const MAX_CONTROL_BYTES = 125

export interface MessageStreamOptions {
  readonly role: 'client' | 'server'
  /** Default 1 MiB. */
  readonly maxMessageBytes?: number
  readonly clock?: Clock
}

const MAX_MESSAGE_BYTES = 1 << 20
/** The most bytes that wait for a peer that does not read; each ping of the peer adds an answer. */
const MAX_UNREAD_BYTES = 1 << 20
/** How long the peer may take to end the connection after our close frame. */
const CLOSING_MS = 2_000

/**
 * The messages of a WebSocket whose handshake is done, as a stream: each chunk that is read or written is one
 * message. Messages that arrive are text or binary; those that are written are sent as binary. The stream ends when
 * the peer sends a close frame. It fails with NP_STREAMS_WEBSOCKET when the peer violates the protocol, or ends the
 * connection without a close frame. The stream owns the connection; `end` closes it with code 1000.
 */
export function createMessageStream(channel: Duplex, options: MessageStreamOptions): Duplex {
  return new MessageStream(channel, options).messages
}

class MessageStream {
  readonly messages: Duplex
  readonly #channel: Duplex
  readonly #isClient: boolean
  readonly #clock: Clock
  readonly #reader: WebSocketFrameReader
  #isClosing = false

  constructor(channel: Duplex, options: MessageStreamOptions) {
    const { role, maxMessageBytes = MAX_MESSAGE_BYTES, clock = systemClock } = options
    this.#channel = channel
    this.#isClient = role === 'client'
    this.#clock = clock
    this.#reader = new WebSocketFrameReader({ isMasked: !this.#isClient, maxMessageBytes })
    this.messages = this.#createMessages()
    channel.on('data', (chunk: Buffer) => this.#received(chunk))
    channel.on('error', (error) => this.messages.destroy(error))
    for (const event of ['end', 'close']) channel.once(event, () => this.#ended())
  }

  #createMessages(): Duplex {
    const channel = this.#channel
    const messages = new Duplex({
      readableObjectMode: true,
      read: () => channel.resume(),
      write: (chunk: Buffer, _encoding, done) => {
        if (this.#isClosing || !channel.writable) done(new Error('the WebSocket is closed'))
        else if (this.#send(OPCODE.binary, chunk)) done()
        else awaitDrain(channel, done)
      },
      final: (done) => {
        this.#sendClose(closePayload(CLOSE.normal))
        done()
      },
      destroy: (error, done) => {
        if (!this.#isClosing) channel.destroy()
        done(error)
      },
    })
    // Users of the messages have their own error listeners; this one only prevents an unhandled error from
    // ending the process.
    messages.on('error', () => undefined)
    return messages
  }

  #received(chunk: Buffer): void {
    if (this.messages.destroyed || this.messages.readableEnded) return
    for (const event of this.#reader.read(chunk)) {
      if (!this.messages.destroyed) this.#handle(event)
    }
    if (this.#channel.writableLength > MAX_UNREAD_BYTES) this.#fail('the peer does not read')
  }

  #handle(event: WebSocketEvent): void {
    switch (event.kind) {
      case 'message':
        if (!this.messages.push(event.data)) this.#channel.pause()
        return
      case 'ping':
        this.#send(OPCODE.pong, event.data)
        return
      case 'pong':
        return
      case 'close':
        return this.#closed(event)
      case 'fault':
        this.#sendClose(closePayload(event.code, event.why))
        return this.#fail(event.why)
    }
  }

  #closed({ code, reason }: Extract<WebSocketEvent, { kind: 'close' }>): void {
    this.#sendClose(closePayload(CLOSE.normal))
    if (code === CLOSE.normal || code === CLOSE.none) this.messages.push(null)
    else this.#fail(`the peer closed it with code ${code} ${quote(reason)}`)
  }

  #ended(): void {
    this.#channel.end()
    if (!this.#isClosing) this.#fail('the peer ended the connection without a close frame')
    else if (!this.messages.destroyed) this.messages.push(null)
  }

  /**
   * Sends a close frame and ends the connection, only once. Data that the peer still sends is read, because a
   * connection with unread bytes would be reset.
   */
  #sendClose(payload: Buffer): void {
    const channel = this.#channel
    if (this.#isClosing || !channel.writable) return
    this.#send(OPCODE.close, payload)
    this.#isClosing = true
    channel.end()
    channel.resume()
    const cancel = this.#clock.after(CLOSING_MS, () => channel.destroy())
    channel.once('close', cancel)
  }

  #fail(why: string): void {
    const message = `the WebSocket ended: ${why}`
    this.messages.destroy(new NodeProxyError('NP_STREAMS_WEBSOCKET', message))
  }

  #send(opcode: number, payload: Buffer): boolean {
    if (this.#isClosing || !this.#channel.writable) return false
    const mask = this.#isClient ? randomBytes(4) : undefined
    return this.#channel.write(webSocketFrame(opcode, payload, mask))
  }
}

function awaitDrain(channel: Duplex, done: (error?: Error) => void): void {
  const settle = (): void => {
    channel.off('drain', settle)
    channel.off('close', settle)
    done(channel.destroyed ? new Error('the WebSocket is closed') : undefined)
  }
  channel.once('drain', settle)
  channel.once('close', settle)
}

interface FrameReaderOptions {
  /** Whether frames must be masked: those of a client must, those of a server must not. */
  readonly isMasked: boolean
  /** Bytes of a message with all its fragments. */
  readonly maxMessageBytes: number
}

interface Head {
  readonly isFinal: boolean
  readonly opcode: number
  readonly mask: Buffer | undefined
  /** The bytes of the head: the payload begins behind it. */
  readonly size: number
  /** The bytes of the payload. */
  readonly length: number
}

type Fault = Extract<WebSocketEvent, { kind: 'fault' }>

/**
 * Finds messages and control frames in the bytes of a peer. Everything that RFC 6455 forbids is a fault, after which
 * nothing is read. Keeps one message and one frame at most. Its work and its memory are linear in their bytes, however
 * small the chunks and the fragments are.
 */
export class WebSocketFrameReader {
  readonly #options: FrameReaderOptions
  /** The beginning of a frame, and how many bytes it must have before it is decoded again. */
  readonly #kept = new CollectedBytes()
  #wanted = 0
  /** The payloads of the message that is not final. */
  readonly #fragments = new CollectedBytes()
  /** The opcode of the message whose fragments are arriving; undefined: there is none. */
  #opcode: number | undefined
  #isOver = false

  constructor(options: FrameReaderOptions) {
    this.#options = options
  }

  read(chunk: Buffer): readonly WebSocketEvent[] {
    const events: WebSocketEvent[] = []
    if (this.#isOver) return events
    if (this.#kept.length > 0) {
      this.#kept.append(chunk)
      if (this.#kept.length < this.#wanted) return events
    }
    let rest = this.#kept.length > 0 ? this.#kept.take() : chunk
    for (;;) {
      const head = this.#head(rest)
      if (head !== undefined && 'kind' in head) return this.#end(events, head)
      this.#wanted = head === undefined ? rest.length + 1 : head.size + head.length
      if (head === undefined || rest.length < this.#wanted) break
      const payload = rest.subarray(head.size, this.#wanted)
      rest = rest.subarray(this.#wanted)
      const plain = head.mask === undefined ? Buffer.from(payload) : masked(payload, head.mask)
      const event = this.#frame(head, plain)
      if (event === undefined) continue
      if (event.kind === 'fault' || event.kind === 'close') return this.#end(events, event)
      events.push(event)
    }
    this.#kept.append(rest)
    return events
  }

  #end(events: WebSocketEvent[], last: WebSocketEvent): readonly WebSocketEvent[] {
    this.#isOver = true
    this.#kept.take()
    this.#fragments.take()
    return [...events, last]
  }

  /** Undefined: it is not complete yet. */
  #head(bytes: Buffer): Head | Fault | undefined {
    const [first, second] = bytes
    if (first === undefined || second === undefined) return undefined
    const opcode = first & 0x0f
    const isFinal = (first & 0x80) !== 0
    const wrong = this.#headFault(first, (second & 0x80) !== 0)
    if (wrong !== undefined) return wrong
    const short = second & 0x7f
    if (opcode >= OPCODE.close && (short > MAX_CONTROL_BYTES || !isFinal)) {
      return fault('a control frame is too long or fragmented')
    }
    const lengthBytes = short === 126 ? 2 : short === 127 ? 8 : 0
    const size = 2 + lengthBytes + (this.#options.isMasked ? 4 : 0)
    if (bytes.length < size) return undefined
    const length = lengthBytes === 0 ? short : longLength(bytes, lengthBytes)
    if (length === undefined) return fault('a length is not in its shortest form')
    if (opcode < OPCODE.close && length + this.#fragments.length > this.#options.maxMessageBytes) {
      return fault('the message is too large', CLOSE.tooLarge)
    }
    const mask = this.#options.isMasked ? bytes.subarray(size - 4, size) : undefined
    return { isFinal, opcode, mask, size, length }
  }

  #headFault(first: number, isMasked: boolean): Fault | undefined {
    const opcode = first & 0x0f
    if ((first & 0x70) !== 0) return fault('a reserved bit is set')
    if (!Object.values<number>(OPCODE).includes(opcode)) return fault('a frame of an unknown kind')
    if (isMasked !== this.#options.isMasked)
      return fault(isMasked ? 'a frame of a server is masked' : 'a frame of a client is not masked')
    const isContinued = this.#opcode !== undefined
    if (opcode === OPCODE.continuation && !isContinued)
      return fault('a continuation without a message')
    const begins = opcode === OPCODE.text || opcode === OPCODE.binary
    return begins && isContinued ? fault('a message begins within another one') : undefined
  }

  #frame({ opcode, isFinal }: Head, payload: Buffer): WebSocketEvent | undefined {
    if (opcode === OPCODE.ping) return { kind: 'ping', data: payload }
    if (opcode === OPCODE.pong) return { kind: 'pong' }
    if (opcode === OPCODE.close) return closeEvent(payload)
    if (opcode !== OPCODE.continuation) this.#opcode = opcode
    if (isFinal && this.#fragments.length === 0) return this.#message(payload)
    this.#fragments.append(payload)
    return isFinal ? this.#message(this.#fragments.take()) : undefined
  }

  #message(data: Buffer): WebSocketEvent {
    const isText = this.#opcode === OPCODE.text
    this.#opcode = undefined
    if (isText && !isUtf8(data)) return fault('a text is not UTF-8', CLOSE.invalidText)
    return { kind: 'message', data }
  }
}

/** Bytes that arrive in parts, in a buffer that doubles when it is full: each byte is copied about twice. */
class CollectedBytes {
  #space: Buffer = Buffer.alloc(0)
  #length = 0

  get length(): number {
    return this.#length
  }

  append(part: Buffer): void {
    const length = this.#length + part.length
    if (length > this.#space.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, 2 * this.#space.length))
      this.#space.copy(larger, 0, 0, this.#length)
      this.#space = larger
    }
    part.copy(this.#space, this.#length)
    this.#length = length
  }

  /** Returns the bytes and forgets them. */
  take(): Buffer {
    const bytes = this.#space.subarray(0, this.#length)
    this.#space = Buffer.alloc(0)
    this.#length = 0
    return bytes
  }
}

function fault(why: string, code: number = CLOSE.protocolError): Fault {
  return { kind: 'fault', code, why }
}

/** Undefined: it fits into a shorter form. */
function longLength(bytes: Buffer, lengthBytes: 2 | 8): number | undefined {
  if (lengthBytes === 2) {
    const length = bytes.readUInt16BE(2)
    return length < 126 ? undefined : length
  }
  const length = Number(bytes.readBigUInt64BE(2))
  return length <= 0xffff ? undefined : length
}

function closeEvent(payload: Buffer): WebSocketEvent {
  if (payload.length === 0) return { kind: 'close', code: CLOSE.none, reason: '' }
  if (payload.length === 1) return fault('a close code is cut off')
  const code = payload.readUInt16BE(0)
  const reason = payload.subarray(2)
  const isKnown = code >= 1000 && code < 5000 && !(code > 1014 && code < 3000)
  if (!isKnown || RESERVED_CODES.has(code)) return fault('a close code that does not exist')
  if (!isUtf8(reason)) return fault('a reason is not UTF-8', CLOSE.invalidText)
  return { kind: 'close', code, reason: reason.toString() }
}

/** The kinds of frames (RFC 6455, section 5.2). */
export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

/** Why a connection is closed (RFC 6455, section 7.4.1). */
const CLOSE = {
  normal: 1000,
  protocolError: 1002,
  /** The code that is reported when the peer named none; it is never sent. */
  none: 1005,
  invalidText: 1007,
  tooLarge: 1009,
} as const

/** A decoded message of a peer. */
type WebSocketEvent =
  | { readonly kind: 'message'; readonly data: Buffer }
  | { readonly kind: 'ping'; readonly data: Buffer }
  | { readonly kind: 'pong' }
  /** `code` 1005: none was named. */
  | { readonly kind: 'close'; readonly code: number; readonly reason: string }
  /** It broke the protocol: the connection is to be closed with this code. */
  | { readonly kind: 'fault'; readonly code: number; readonly why: string }

/** One frame; `mask`: four random bytes, which clients must use and servers must not. */
export function webSocketFrame(opcode: number, payload: Buffer, mask?: Buffer): Buffer {
  const head = headOf(opcode, payload.length, mask !== undefined)
  if (mask === undefined) return Buffer.concat([head, payload])
  return Buffer.concat([head, mask, masked(payload, mask)])
}

/** The payload with its mask applied, or removed: the same operation. */
function masked(payload: Buffer, mask: Buffer): Buffer {
  const result = Buffer.allocUnsafe(payload.length)
  for (let at = 0; at < payload.length; at++) {
    result[at] = payload[at]! ^ mask[at & 3]!
  }
  return result
}

/** The payload of a close frame. */
export function closePayload(code: number, reason = ''): Buffer {
  const payload = Buffer.alloc(2 + Buffer.byteLength(reason))
  payload.writeUInt16BE(code, 0)
  payload.write(reason, 2)
  return payload
}

function headOf(opcode: number, length: number, isMasked: boolean): Buffer {
  const size = length < 126 ? 2 : length <= 0xffff ? 4 : 10
  const head = Buffer.alloc(size)
  head[0] = 0x80 | opcode
  head[1] = (isMasked ? 0x80 : 0) | (size === 2 ? length : size === 4 ? 126 : 127)
  if (size === 4) head.writeUInt16BE(length, 2)
  if (size === 10) head.writeBigUInt64BE(BigInt(length), 2)
  return head
}
