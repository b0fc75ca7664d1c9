import { Duplex } from 'node:stream'
import { DEFAULT_WINDOW_BYTES, RESET } from './frame.ts'
import type { SpdyHeaders } from './header-block.ts'

/** One stream of a session. */
export interface SpdyStream {
  readonly id: number
  /** The headers with which the stream was opened. */
  readonly headers: SpdyHeaders
  /**
   * Its bytes, each direction with an end of its own. It fails with NP_STREAMS_RESET when the peer resets the
   * stream, and with the error of the session; destroying it resets the stream.
   */
  readonly bytes: Duplex
  /** Accepts a stream that the peer opened; it must be accepted before anything is sent. */
  accept(): void
  /** Resolves when the peer has accepted a stream of ours; rejects as `bytes` fails. */
  readonly accepted: Promise<void>
}

/** The parts of a session that its streams use. */
export interface StreamCarrier {
  /** Sends a part of `chunk`, and the rest when the connection and the windows permit. */
  send(stream: StreamEnd, chunk: Buffer, done: (error?: Error) => void): void
  finish(stream: StreamEnd): void
  reset(stream: StreamEnd, status: number): void
  accept(stream: StreamEnd): void
  /** The consumer took bytes, or is gone. */
  consumed(stream: StreamEnd): void
}

/** A stream as its session sees it. */
export interface StreamEnd extends SpdyStream {
  readonly window: SendWindow
  /** The data that arrived. */
  readonly inbound: InboundQueue
  isOurEndSent: boolean
  isPeerEndReceived: boolean
  accepting: PromiseWithResolvers<void>
  /**
   * Fails after everything that has arrived was read: a kubelet resets the streams of a command directly after it has
   * sent output and status.
   */
  fail(error: Error): void
}

export interface StreamParts {
  readonly id: number
  readonly headers: SpdyHeaders
  readonly carrier: StreamCarrier
  /** How much the peer lets a stream send at first. */
  readonly windowBytes: number
}

/** Bytes of a stream that wait for their consumer before the connection is no longer read. */
export const STREAM_BUFFER_BYTES = 256 << 10

/** A new stream of a session. */
export function createStream({ id, headers, carrier, windowBytes }: StreamParts): StreamEnd {
  const accepting = Promise.withResolvers<void>()
  accepting.promise.catch(() => undefined)
  const bytes = new Duplex({
    read: () => {
      inbound.wanted()
      carrier.consumed(stream)
    },
    write: (chunk: Buffer, _encoding, done) => carrier.send(stream, chunk, done),
    final: (done) => {
      carrier.finish(stream)
      done()
    },
    destroy: (error, done) => {
      carrier.reset(stream, RESET.cancel)
      accepting.reject(error ?? new Error('the stream was destroyed'))
      done(error)
    },
  })
  // Users of the stream have their own error listeners; this one only prevents an unhandled error from ending
  // the process.
  bytes.on('error', () => undefined)
  const inbound = new InboundQueue((chunk) => bytes.push(chunk))
  const stream: StreamEnd = {
    id,
    headers,
    bytes,
    inbound,
    accepting,
    accepted: accepting.promise,
    accept: () => carrier.accept(stream),
    fail: (error) => {
      if (inbound.bytes + bytes.readableLength === 0) return void bytes.destroy(error)
      bytes.once('end', () => bytes.destroy(error))
      inbound.end()
    },
    window: new SendWindow(windowBytes),
    isOurEndSent: false,
    isPeerEndReceived: false,
  }
  return stream
}

/** Takes a chunk, or null for the end; returns whether more is wanted now. */
type Push = (chunk: Buffer | null) => boolean

/** Bytes of a stream that arrived and that its consumer has not taken yet. */
class InboundQueue {
  readonly #push: Push
  readonly #chunks: Buffer[] = []
  #bytes = 0
  #delivered = 0
  #isWanted = false
  #isEnded = false

  constructor(push: Push) {
    this.#push = push
  }

  /** How many bytes wait. */
  get bytes(): number {
    return this.#bytes
  }

  /** How many bytes the consumer has got since this was last called. */
  takeDelivered(): number {
    const delivered = this.#delivered
    this.#delivered = 0
    return delivered
  }

  get delivered(): number {
    return this.#delivered
  }

  add(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    this.#flush()
  }

  /** Nothing is added after that. */
  end(): void {
    this.#isEnded = true
    if (this.#chunks.length === 0) this.#push(null)
  }

  /** The consumer wants more. */
  wanted(): void {
    this.#isWanted = true
    this.#flush()
  }

  #flush(): void {
    while (this.#isWanted) {
      const chunk = this.#chunks.shift()
      if (chunk === undefined) return
      this.#bytes -= chunk.length
      this.#delivered += chunk.length
      this.#isWanted = this.#push(chunk)
      if (this.#isEnded && this.#chunks.length === 0) this.#push(null)
    }
  }
}

/**
 * How much a stream, or a session, may send. A peer without flow control sends neither windows nor
 * settings (client-go and every kubectl): then there is no limit but that of the connection.
 */
export class SendWindow {
  #limit: number
  #sent = 0

  constructor(limit: number = DEFAULT_WINDOW_BYTES) {
    this.#limit = limit
  }

  /** The number of bytes that may be sent now; if it is 0 or negative, none. */
  get rest(): number {
    return this.#limit - this.#sent
  }

  sent(bytes: number): void {
    this.#sent += bytes
  }

  granted(bytes: number): void {
    this.#limit += bytes
  }
}
