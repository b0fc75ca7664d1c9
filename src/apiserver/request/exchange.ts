import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** The two ends of one HTTP exchange. */
export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Present: the client requests another protocol, and the connection can be had. */
  readonly upgrade?: Upgrade | undefined
}

/**
 * Answers a request for a file beside the API, which needs no credentials, has no slot and is in no log.
 * @returns false: it is for something else, and nothing is answered
 */
export type FileHandler = (exchange: Pick<Exchange, 'request' | 'response'>) => boolean

/** A connection whose client waits for another protocol. */
export interface Upgrade {
  readonly socket: Socket
  /** What the client has sent already. */
  readonly head: Buffer
}
