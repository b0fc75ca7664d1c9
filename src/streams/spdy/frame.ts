import {
  HeaderBlockReader,
  HeaderBlockWriter,
  type SpdyHeaders,
  spdyFault,
} from './header-block.ts'

interface OfStream {
  readonly streamId: number
}

interface MayBeLast extends OfStream {
  /** The sender sends nothing more on this stream. */
  readonly isLast: boolean
}

/** A frame of SPDY/3.1 (draft 3.1, section 2). */
export type SpdyFrame =
  | ({ readonly type: 'data'; readonly data: Buffer } & MayBeLast)
  | ({ readonly type: 'syn-stream'; readonly headers: SpdyHeaders } & MayBeLast)
  | ({ readonly type: 'syn-reply'; readonly headers: SpdyHeaders } & MayBeLast)
  | ({ readonly type: 'headers'; readonly headers: SpdyHeaders } & MayBeLast)
  | ({ readonly type: 'reset'; readonly status: number } & OfStream)
  /** Values by the id of the setting. */
  | { readonly type: 'settings'; readonly values: ReadonlyMap<number, number> }
  | { readonly type: 'ping'; readonly id: number }
  | { readonly type: 'go-away'; readonly lastStreamId: number; readonly status: number }
  /** `streamId` 0: of the whole session. */
  | ({ readonly type: 'window-update'; readonly delta: number } & OfStream)

/** The numbers of control frames. */
const CONTROL = {
  synStream: 1,
  synReply: 2,
  reset: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  headers: 8,
  windowUpdate: 9,
} as const

/** Why a stream was reset. */
export const RESET = { protocolError: 1, invalidStream: 2, refused: 3, cancel: 5 } as const

/** The setting with the window that each new stream has. */
export const INITIAL_WINDOW_SIZE = 7

/** The window of a session, and of each stream if the peer does not send that setting. */
export const DEFAULT_WINDOW_BYTES = 64 << 10

/** The version that frames of SPDY/3.1 carry. */
const SPDY_VERSION = 3

/** The flag of frames after which their sender sends nothing more on the stream. */
const FLAG_FIN = 1

const HEAD_BYTES = 8
/** The size limit of a control frame; data frames are passed on as they arrive, whatever their size. */
const MAX_CONTROL_BYTES = 64 << 10
const ID_MASK = 0x7fff_ffff
const MAX_SETTINGS = 100

/**
 * Finds the frames in the bytes of one direction. It keeps a control frame that is not complete, but no data. Throws
 * NP_STREAMS_SPDY for bytes that are no frame; it cannot be used after that.
 */
export class SpdyFrameReader {
  readonly #headers = new HeaderBlockReader()
  #kept: Buffer = Buffer.alloc(0)
  /** The data frame whose bytes are still arriving; undefined: there is none. */
  #data: { readonly streamId: number; readonly isLast: boolean; rest: number } | undefined;

  /** The frames that are completed by this chunk, and the parts of data frames in it. */
  *read(chunk: Buffer): Generator<SpdyFrame> {
    let rest: Buffer = this.#kept.length === 0 ? chunk : Buffer.concat([this.#kept, chunk])
    this.#kept = Buffer.alloc(0)
    while (rest.length > 0) {
      if (this.#data !== undefined) {
        const part = rest.subarray(0, this.#data.rest)
        rest = rest.subarray(part.length)
        yield this.#dataFrame(part)
        continue
      }
      if (rest.length < HEAD_BYTES) break
      const length = rest.readUInt32BE(4) & 0xff_ffff
      if ((rest[0]! & 0x80) === 0) {
        this.#data = { streamId: rest.readUInt32BE(0), isLast: isLast(rest), rest: length }
        rest = rest.subarray(HEAD_BYTES)
        if (length === 0) yield this.#dataFrame(rest.subarray(0, 0))
        continue
      }
      if (length > MAX_CONTROL_BYTES) throw spdyFault(`a control frame of ${length} bytes`)
      if (rest.length < HEAD_BYTES + length) break
      const frame = this.#control(rest, rest.subarray(HEAD_BYTES, HEAD_BYTES + length))
      rest = rest.subarray(HEAD_BYTES + length)
      if (frame !== undefined) yield frame
    }
    this.#kept = Buffer.from(rest)
  }

  #dataFrame(part: Buffer): SpdyFrame {
    const data = this.#data!
    data.rest -= part.length
    if (data.rest === 0) this.#data = undefined
    const isEnd = data.rest === 0 && data.isLast
    return { type: 'data', streamId: data.streamId, isLast: isEnd, data: part }
  }

  /** Undefined: a frame of a kind that is unknown, which is ignored. */
  #control(head: Buffer, body: Buffer): SpdyFrame | undefined {
    if ((head.readUInt16BE(0) & 0x7fff) !== SPDY_VERSION) throw spdyFault('another version')
    switch (head.readUInt16BE(2)) {
      case CONTROL.synStream:
        return { type: 'syn-stream', ...this.#withHeaders(head, body, 10) }
      case CONTROL.synReply:
        return { type: 'syn-reply', ...this.#withHeaders(head, body, 4) }
      case CONTROL.headers:
        return { type: 'headers', ...this.#withHeaders(head, body, 4) }
      case CONTROL.reset:
        return { type: 'reset', streamId: idAt(body, 0, 8), status: body.readUInt32BE(4) }
      case CONTROL.settings:
        return { type: 'settings', values: settingsOf(body) }
      case CONTROL.ping:
        return { type: 'ping', id: wordAt(body, 0, 4) }
      case CONTROL.goAway:
        return { type: 'go-away', lastStreamId: idAt(body, 0, 8), status: body.readUInt32BE(4) }
      case CONTROL.windowUpdate:
        return { type: 'window-update', streamId: idAt(body, 0, 8), delta: idAt(body, 4, 8) }
      default:
        return undefined
    }
  }

  #withHeaders(head: Buffer, body: Buffer, blockAt: number) {
    if (body.length < blockAt) throw spdyFault('a control frame is too short')
    const streamId = body.readUInt32BE(0) & ID_MASK
    return { streamId, isLast: isLast(head), headers: this.#headers.read(body.subarray(blockAt)) }
  }
}

function isLast(head: Buffer): boolean {
  return (head[4]! & FLAG_FIN) !== 0
}

function wordAt(body: Buffer, at: number, length: number): number {
  if (body.length !== length) throw spdyFault('a control frame has another length than its kind')
  return body.readUInt32BE(at)
}

function idAt(body: Buffer, at: number, length: number): number {
  return wordAt(body, at, length) & ID_MASK
}

function settingsOf(body: Buffer): ReadonlyMap<number, number> {
  const count = body.length < 4 ? -1 : body.readUInt32BE(0)
  if (count > MAX_SETTINGS || body.length !== 4 + 8 * count) throw spdyFault('broken settings')
  const values = new Map<number, number>()
  for (let at = 4; at < body.length; at += 8) {
    values.set(body.readUIntBE(at + 1, 3), body.readUInt32BE(at + 4))
  }
  return values
}

/** Writes the frames of one direction of a session, in their order. */
export class SpdyFrameWriter {
  readonly #headers = new HeaderBlockWriter()

  write(frame: SpdyFrame): Buffer {
    switch (frame.type) {
      case 'data':
        return dataFrame(frame.streamId, frame.isLast, frame.data)
      case 'syn-stream':
        return this.#withHeaders(CONTROL.synStream, frame, [words(frame.streamId, 0), PRIORITY])
      case 'syn-reply':
        return this.#withHeaders(CONTROL.synReply, frame, [words(frame.streamId)])
      case 'headers':
        return this.#withHeaders(CONTROL.headers, frame, [words(frame.streamId)])
      case 'reset':
        return control(CONTROL.reset, 0, words(frame.streamId, frame.status))
      case 'settings':
        return control(CONTROL.settings, 0, settings(frame.values))
      case 'ping':
        return control(CONTROL.ping, 0, words(frame.id))
      case 'go-away':
        return control(CONTROL.goAway, 0, words(frame.lastStreamId, frame.status))
      case 'window-update':
        return control(CONTROL.windowUpdate, 0, words(frame.streamId, frame.delta))
    }
  }

  #withHeaders(
    kind: number,
    { headers, isLast }: Extract<SpdyFrame, { headers: unknown }>,
    before: readonly Buffer[],
  ): Buffer {
    const body = Buffer.concat([...before, this.#headers.write(headers)])
    return control(kind, isLast ? FLAG_FIN : 0, body)
  }
}

/** The highest priority, and no slot for certificates. */
const PRIORITY = Buffer.alloc(2)

function dataFrame(streamId: number, isLast: boolean, data: Buffer): Buffer {
  return Buffer.concat([words(streamId, ((isLast ? FLAG_FIN : 0) << 24) | data.length), data])
}

function control(kind: number, flags: number, body: Buffer): Buffer {
  const head = Buffer.alloc(8)
  head.writeUInt16BE(0x8000 | SPDY_VERSION, 0)
  head.writeUInt16BE(kind, 2)
  head.writeUInt32BE(((flags << 24) | body.length) >>> 0, 4)
  return Buffer.concat([head, body])
}

function settings(values: ReadonlyMap<number, number>): Buffer {
  return words(values.size, ...[...values].flat())
}

function words(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length)
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value >>> 0, 4 * index)
  return bytes
}
