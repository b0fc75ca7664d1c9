import type { SpdyHeaders } from './header-block.ts'

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
export const CONTROL = {
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

/** The window of a session, and of each stream for want of that setting. */
export const DEFAULT_WINDOW_BYTES = 64 << 10

/** The version that frames of SPDY/3.1 carry. */
export const SPDY_VERSION = 3

/** The flag of frames after which their sender sends nothing more on the stream. */
export const FLAG_FIN = 1
