import { CONTROL, FLAG_FIN, SPDY_VERSION, type SpdyFrame } from './frame.ts'
import { HeaderBlockReader } from './header-block.ts'
import { spdyFault } from './spdy-fault.ts'

const HEAD_BYTES = 8
/** The size limit of a control frame; data frames are passed on as they arrive, whatever their size. */
const MAX_CONTROL_BYTES = 64 << 10
const ID_MASK = 0x7fff_ffff
const MAX_SETTINGS = 100

/**
 * Finds the frames in the bytes of one direction. It keeps a control frame that is not whole, and
 * nothing of the data. Throws NP_STREAMS_SPDY for what is no frame; it cannot be used after that.
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
