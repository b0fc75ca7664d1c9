import { randomBytes } from 'node:crypto'
import { Duplex } from 'node:stream'
import { type Clock, systemClock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'
import { CLOSE, closePayload, OPCODE, type WebSocketEvent, webSocketFrame } from './frame.ts'
import { WebSocketFrameReader } from './frame-reader.ts'

export interface MessageStreamOptions {
  readonly role: 'client' | 'server'
  /** Default 1 MiB. */
  readonly maxMessageBytes?: number
  readonly clock?: Clock
}

const MAX_MESSAGE_BYTES = 1 << 20
/** Answers to pings that the peer does not take. */
const MAX_UNTAKEN_BYTES = 1 << 20
/** How long the peer may take for its goodbye. */
const GOODBYE_MS = 2_000

/**
 * The messages of a WebSocket whose handshake is done, as a stream: each chunk that is read or written is one
 * message, text or binary as it comes and binary as it goes. It ends when the peer closes the connection in
 * good order, and fails with NP_STREAMS_WEBSOCKET when the peer breaks the protocol or breaks off.
 * The stream owns the connection; `end` closes it with code 1000.
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
        this.#goodbye(closePayload(CLOSE.normal))
        done()
      },
      destroy: (error, done) => {
        if (!this.#isClosing) channel.destroy()
        done(error)
      },
    })
    // Who uses the messages hears of it by its own listeners; without one it must not end the process.
    messages.on('error', () => undefined)
    return messages
  }

  #received(chunk: Buffer): void {
    if (this.messages.destroyed || this.messages.readableEnded) return
    for (const event of this.#reader.read(chunk)) {
      if (!this.messages.destroyed) this.#handle(event)
    }
    if (this.#channel.writableLength > MAX_UNTAKEN_BYTES) this.#fail('the peer takes no answers')
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
        this.#goodbye(closePayload(event.code, event.why))
        return this.#fail(event.why)
    }
  }

  #closed({ code, reason }: Extract<WebSocketEvent, { kind: 'close' }>): void {
    this.#goodbye(closePayload(CLOSE.normal))
    if (code === CLOSE.normal || code === CLOSE.none) this.messages.push(null)
    else this.#fail(`the peer closed it with code ${code} ${quote(reason)}`)
  }

  #ended(): void {
    this.#channel.end()
    if (!this.#isClosing) this.#fail('the peer broke off')
    else if (!this.messages.destroyed) this.messages.push(null)
  }

  /** Once. What the peer still sends is read, because a connection with unread bytes would be reset. */
  #goodbye(payload: Buffer): void {
    const channel = this.#channel
    if (this.#isClosing || !channel.writable) return
    this.#send(OPCODE.close, payload)
    this.#isClosing = true
    channel.end()
    channel.resume()
    const cancel = this.#clock.after(GOODBYE_MS, () => channel.destroy())
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
