import { CONTROL, FLAG_FIN, SPDY_VERSION, type SpdyFrame } from './frame.ts'
import { HeaderBlockWriter } from './header-block.ts'

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
