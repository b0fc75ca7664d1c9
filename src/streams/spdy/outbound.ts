import type { Duplex } from 'node:stream'
import type { SpdyFrame } from './frame.ts'
import type { StreamEnd } from './spdy-stream.ts'
import { SendWindow } from './spdy-stream.ts'

export interface OutboundParts {
  readonly channel: Duplex
  readonly write: (frame: SpdyFrame) => void
  /** Whether a stream can still be sent on. */
  readonly isOpen: (stream: StreamEnd) => boolean
  /** The error of writes to a stream that is not open. */
  readonly closed: () => Error
}

const FRAME_BYTES = 16 << 10

/** Sends the data of all streams of a session, as far as the connection and the windows permit. */
export class Outbound {
  /** Of the session. */
  readonly window = new SendWindow()
  /** Whether the peer has sent a window; until then, only the connection limits what is sent. */
  hasFlowControl = false
  readonly #parts: OutboundParts
  /** Functions that continue writing when the connection or a window accepts more. */
  readonly #blocked = new Set<() => void>()

  constructor(parts: OutboundParts) {
    this.#parts = parts
  }

  send(stream: StreamEnd, chunk: Buffer, done: (error?: Error) => void): void {
    const { channel, write, isOpen, closed } = this.#parts
    let rest = chunk
    let isDone = false
    const goOn = (): void => {
      while (rest.length > 0 && this.#space(stream) > 0 && !channel.writableNeedDrain) {
        const data = rest.subarray(0, Math.min(FRAME_BYTES, this.#space(stream)))
        rest = rest.subarray(data.length)
        for (const window of [stream.window, this.window]) window.sent(data.length)
        write({ type: 'data', streamId: stream.id, isLast: false, data })
      }
      // During a write a window may arrive, and the rest may have been sent by then.
      if (isDone || (rest.length > 0 && isOpen(stream))) return
      isDone = true
      this.#blocked.delete(goOn)
      done(rest.length > 0 ? closed() : undefined)
    }
    this.#blocked.add(goOn)
    goOn()
  }

  /** The connection or a window takes more, or a stream is over. */
  goOn(): void {
    for (const goOn of [...this.#blocked]) goOn()
  }

  #space(stream: StreamEnd): number {
    if (!this.#parts.isOpen(stream)) return 0
    return this.hasFlowControl ? Math.min(stream.window.rest, this.window.rest) : FRAME_BYTES
  }
}
