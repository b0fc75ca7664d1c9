import type { IncomingMessage, ServerResponse } from 'node:http'

/** The two ends of one HTTP exchange. */
export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}
