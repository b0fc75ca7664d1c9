import type { SpdyHeaders } from './header-block.ts'
import type { SpdyStream } from './spdy-stream.ts'

export interface SpdySessionOptions {
  /** `client`: it opens streams with odd ids, and names its windows first. */
  readonly role: 'client' | 'server'
  /** Receives each stream that the peer opens, which it accepts or destroys. */
  readonly onStream?: (stream: SpdyStream) => void
  /** Streams at one time; more are refused. Default 2,000. */
  readonly maxStreams?: number
}

/** A session of SPDY/3.1: many streams over one connection. */
export interface SpdySession {
  /**
   * Opens a stream.
   * @throws NP_STREAMS_CLOSED when the session is over
   */
  open(headers: SpdyHeaders): SpdyStream
  /** Resolves when the session is over: to the error that ended it, or undefined. */
  readonly closed: Promise<Error | undefined>
  /** Says goodbye, sends what waits, and ends the connection. */
  close(): void
}
