import type { Duplex } from 'node:stream'
import { NodeProxyError } from '../../lib/error.ts'
import {
  DEFAULT_WINDOW_BYTES,
  INITIAL_WINDOW_SIZE,
  RESET,
  type SpdyFrame,
  SpdyFrameReader,
  SpdyFrameWriter,
} from './frame.ts'
import type { SpdyHeaders } from './header-block.ts'
import { spdyFault } from './header-block.ts'
import { Outbound } from './outbound.ts'
import {
  createStream,
  type SpdyStream,
  STREAM_BUFFER_BYTES,
  type StreamCarrier,
  type StreamEnd,
} from './spdy-stream.ts'

/** A session of SPDY/3.1: many streams over one connection. */
export interface SpdySession {
  /**
   * Opens a stream.
   * @throws NP_STREAMS_CLOSED when the session is over
   */
  open(headers: SpdyHeaders): SpdyStream
  /** Resolves when the session is over: to the error that ended it, or undefined. */
  readonly closed: Promise<Error | undefined>
  /** Sends GOAWAY and the waiting data, then ends the connection. */
  close(): void
}

const MAX_STREAMS = 2_000
/** A window is updated when this part of it has been consumed. */
const CREDIT_BYTES = STREAM_BUFFER_BYTES / 2
/** The same for the window of the session. Small updates would make the peer send ever more small frames. */
const SESSION_CREDIT_BYTES = DEFAULT_WINDOW_BYTES / 2
/** The most bytes that wait for a peer that does not read; each ping of the peer adds an answer. */
const MAX_UNREAD_BYTES = 1 << 20
const MAX_ID = 0x7fff_ffff

/** Runs a session over a connection, which it owns from then on. */
export function createSpdySession(channel: Duplex, options: SpdySessionOptions): SpdySession {
  return new Session(channel, options)
}

class Session implements SpdySession, StreamCarrier {
  readonly closed: Promise<Error | undefined>
  readonly #channel: Duplex
  readonly #options: SpdySessionOptions
  readonly #reader = new SpdyFrameReader()
  readonly #writer = new SpdyFrameWriter()
  /** The streams on which something may be sent or arrive; empty once the session is over. */
  readonly #streams = new Map<number, StreamEnd>()
  /** How many streams hold memory: also one that is over, as long as its consumer has not taken what arrived. */
  #unclosed = 0
  /** Streams with more waiting bytes than permitted: while there is one, the connection is not read. */
  readonly #full = new Set<StreamEnd>()
  readonly #chunks: Buffer[] = []
  readonly #end = Promise.withResolvers<Error | undefined>()
  readonly #outbound: Outbound
  #peerWindowBytes = DEFAULT_WINDOW_BYTES
  /** Bytes that have arrived since the window of the session was renewed. */
  #arrived = 0
  #nextId: number
  #lastPeerId = 0
  #isLeaving = false
  #isOver = false

  constructor(channel: Duplex, options: SpdySessionOptions) {
    this.#channel = channel
    this.#options = options
    this.#nextId = options.role === 'client' ? 1 : 2
    this.closed = this.#end.promise
    this.#outbound = new Outbound({
      channel,
      write: (frame) => this.#write(frame),
      isOpen: ({ id }) => this.#streams.has(id),
      closed: closedError,
    })
    channel.on('data', (chunk: Buffer) => this.#received(chunk))
    channel.on('drain', () => this.#outbound.goOn())
    channel.once('end', () => this.#over(undefined))
    channel.once('error', (error) => this.#over(error))
    channel.once('close', () => this.#over(undefined))
    if (options.role === 'client') this.#nameWindow()
  }

  open(headers: SpdyHeaders): SpdyStream {
    if (this.#isOver || this.#isLeaving || this.#nextId > MAX_ID) throw closedError()
    const stream = this.#newStream(this.#nextId, headers)
    this.#nextId += 2
    this.#write({ type: 'syn-stream', streamId: stream.id, isLast: false, headers })
    return stream
  }

  close(): void {
    if (this.#isOver) return
    this.#write({ type: 'go-away', lastStreamId: this.#lastPeerId, status: 0 })
    this.#over(undefined)
  }

  send(stream: StreamEnd, chunk: Buffer, done: (error?: Error) => void): void {
    if (!this.#streams.has(stream.id)) done(closedError())
    else this.#outbound.send(stream, chunk, done)
  }

  finish(stream: StreamEnd): void {
    if (!this.#streams.has(stream.id) || stream.isOurEndSent) return
    stream.isOurEndSent = true
    this.#write({ type: 'data', streamId: stream.id, isLast: true, data: Buffer.alloc(0) })
    this.#forgetFinished(stream)
  }

  reset(stream: StreamEnd, status: number): void {
    // A stream whose two ends were sent is forgotten, and may still be full.
    if (!this.#streams.has(stream.id)) return this.#release(stream)
    this.#write({ type: 'reset', streamId: stream.id, status })
    this.#forget(stream)
  }

  accept(stream: StreamEnd): void {
    if (!this.#streams.has(stream.id)) return
    const reply = { type: 'syn-reply', streamId: stream.id, isLast: false } as const
    this.#write({ ...reply, headers: new Map() })
  }

  consumed(stream: StreamEnd): void {
    const { inbound, id: streamId } = stream
    if (inbound.bytes <= STREAM_BUFFER_BYTES) this.#release(stream)
    if (!this.#outbound.hasFlowControl || this.#isOver || inbound.delivered < CREDIT_BYTES) return
    this.#write({ type: 'window-update', streamId, delta: inbound.takeDelivered() })
  }

  /** Handling a frame may synchronously deliver more bytes; they wait until the frame has been handled. */
  #received(chunk: Buffer): void {
    this.#chunks.push(chunk)
    if (this.#chunks.length > 1) return
    try {
      for (let next = this.#chunks[0]; next !== undefined; next = this.#chunks[0]) {
        this.#handleAll(next)
        this.#chunks.shift()
      }
    } catch (error) {
      this.#over(error as Error)
    }
  }

  #handleAll(chunk: Buffer): void {
    for (const frame of this.#reader.read(chunk)) {
      if (this.#isOver) return
      this.#handle(frame)
    }
    if (this.#channel.writableLength > MAX_UNREAD_BYTES) throw spdyFault('it does not read')
  }

  #handle(frame: SpdyFrame): void {
    switch (frame.type) {
      case 'data':
        return this.#data(frame)
      case 'syn-stream':
        return this.#opened(frame)
      case 'syn-reply':
        return this.#replied(frame)
      case 'reset':
        return this.#reset(frame.streamId, frame.status)
      case 'settings':
        return this.#settings(frame.values)
      case 'ping':
        return this.#ping(frame.id)
      case 'go-away':
        this.#isLeaving = true
        return
      case 'window-update':
        return this.#granted(frame.streamId, frame.delta)
      case 'headers':
        return frame.isLast ? this.#peerEnd(frame.streamId) : undefined
    }
  }

  /** Renews the window of the session as bytes arrive: the streams have limits of their own. */
  #renew(bytes: number): void {
    if (this.#outbound.hasFlowControl) this.#arrived += bytes
    if (this.#arrived < SESSION_CREDIT_BYTES) return
    this.#write({ type: 'window-update', streamId: 0, delta: this.#arrived })
    this.#arrived = 0
  }

  #data({ streamId, isLast, data }: Extract<SpdyFrame, { type: 'data' }>): void {
    this.#renew(data.length)
    const stream = this.#streams.get(streamId)
    if (stream === undefined) {
      if (streamId > Math.max(this.#lastPeerId, this.#nextId)) throw spdyFault('data of no stream')
      return
    }
    if (stream.isPeerEndReceived) throw spdyFault('data after the end of a stream')
    if (data.length > 0) {
      stream.inbound.add(data)
      if (stream.inbound.bytes > STREAM_BUFFER_BYTES) this.#hold(stream)
      this.consumed(stream)
    }
    if (isLast) this.#peerEnd(streamId)
  }

  #opened({ streamId, isLast, headers }: Extract<SpdyFrame, { type: 'syn-stream' }>): void {
    const isPeers = streamId % 2 !== this.#nextId % 2
    if (!isPeers || streamId <= this.#lastPeerId) throw spdyFault('a stream with a wrong id')
    this.#lastPeerId = streamId
    const { onStream, maxStreams = MAX_STREAMS } = this.#options
    if (onStream === undefined || this.#unclosed >= maxStreams) {
      return this.#write({ type: 'reset', streamId, status: RESET.refused })
    }
    onStream(this.#newStream(streamId, headers))
    if (isLast) this.#peerEnd(streamId)
  }

  #replied({ streamId, isLast }: Extract<SpdyFrame, { type: 'syn-reply' }>): void {
    this.#streams.get(streamId)?.accepting.resolve()
    if (isLast) this.#peerEnd(streamId)
  }

  #peerEnd(streamId: number): void {
    const stream = this.#streams.get(streamId)
    if (stream === undefined || stream.isPeerEndReceived) return
    stream.isPeerEndReceived = true
    stream.inbound.end()
    this.#forgetFinished(stream)
  }

  #reset(streamId: number, status: number): void {
    const stream = this.#streams.get(streamId)
    if (stream === undefined) return
    this.#streams.delete(streamId)
    stream.fail(
      new NodeProxyError('NP_STREAMS_RESET', `the peer reset a stream with status ${status}`),
    )
    // Only now: a write that waits would fail the stream with another error.
    this.#forget(stream)
  }

  #settings(values: ReadonlyMap<number, number>): void {
    const wanted = values.get(INITIAL_WINDOW_SIZE)
    if (wanted !== undefined && wanted <= MAX_ID) {
      for (const stream of this.#streams.values()) {
        stream.window.granted(wanted - this.#peerWindowBytes)
      }
      this.#peerWindowBytes = wanted
    }
    this.#heedWindows()
    this.#outbound.goOn()
  }

  /** The peer knows windows: from now on they are heeded, and a server names its own. */
  #heedWindows(): void {
    if (!this.#outbound.hasFlowControl && this.#options.role === 'server') this.#nameWindow()
    this.#outbound.hasFlowControl = true
  }

  /** Own pings are never sent, so an answer to one is not awaited. */
  #ping(id: number): void {
    if (id % 2 !== this.#nextId % 2) this.#write({ type: 'ping', id })
  }

  #granted(streamId: number, delta: number): void {
    this.#heedWindows()
    const window = streamId === 0 ? this.#outbound.window : this.#streams.get(streamId)?.window
    window?.granted(delta)
    if (window !== undefined && window.rest > MAX_ID) throw spdyFault('a window is too large')
    this.#outbound.goOn()
  }

  #nameWindow(): void {
    this.#write({ type: 'settings', values: new Map([[INITIAL_WINDOW_SIZE, STREAM_BUFFER_BYTES]]) })
  }

  #newStream(id: number, headers: SpdyHeaders): StreamEnd {
    const windowBytes = this.#peerWindowBytes
    const stream = createStream({ id, headers, carrier: this, windowBytes })
    this.#streams.set(id, stream)
    this.#unclosed += 1
    stream.bytes.once('close', () => {
      this.#unclosed -= 1
    })
    return stream
  }

  #hold(stream: StreamEnd): void {
    this.#full.add(stream)
    this.#channel.pause()
  }

  #release(stream: StreamEnd): void {
    if (this.#full.delete(stream) && this.#full.size === 0) this.#channel.resume()
  }

  #forgetFinished(stream: StreamEnd): void {
    if (stream.isOurEndSent && stream.isPeerEndReceived) this.#streams.delete(stream.id)
  }

  #forget(stream: StreamEnd): void {
    this.#streams.delete(stream.id)
    this.#release(stream)
    this.#outbound.goOn()
  }

  #write(frame: SpdyFrame): void {
    if (this.#channel.writable) this.#channel.write(this.#writer.write(frame))
  }

  /**
   * Ends the session, only once. A peer that violated the protocol is sent nothing more; others still get the
   * data that was written.
   */
  #over(error: Error | undefined): void {
    if (this.#isOver) return
    this.#isOver = true
    const left = [...this.#streams.values()]
    this.#streams.clear()
    this.#full.clear()
    for (const { bytes, isPeerEndReceived } of left) {
      if (!bytes.destroyed) bytes.destroy(isPeerEndReceived ? undefined : (error ?? closedError()))
    }
    this.#outbound.goOn()
    if (error === undefined) this.#channel.end()
    else this.#channel.destroy()
    this.#channel.resume()
    this.#end.resolve(error)
  }
}

function closedError(): NodeProxyError {
  return new NodeProxyError('NP_STREAMS_CLOSED', 'the session is over')
}

interface SpdySessionOptions {
  /** `client`: it opens streams with odd ids, and names its windows first. */
  readonly role: 'client' | 'server'
  /** Receives each stream that the peer opens, which it accepts or destroys. */
  readonly onStream?: (stream: SpdyStream) => void
  /** Streams at one time, with those whose consumer is not done; more of the peer are refused. Default 2,000. */
  readonly maxStreams?: number
}
