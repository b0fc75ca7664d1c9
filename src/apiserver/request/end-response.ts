import type { ServerResponse } from 'node:http'
import type { Writable } from 'node:stream'

export interface EndOptions {
  /** The stream that compresses the answer; absent: it is not compressed. */
  readonly sink?: Writable
  /** The last bytes of the answer. */
  readonly last?: Buffer
  /** Milliseconds in which the client must take something of what is left. */
  readonly stalledMs: number
}

/**
 * Ends an answer of which the socket may still hold a part: the request keeps its
 * concurrency slot until the client has taken it. The socket's own timer, which every
 * byte that the client takes starts anew, disconnects a client that takes nothing. An answer to a pipelined request has no socket before the
 * answers ahead of it are sent.
 */
export function endResponse(
  response: ServerResponse,
  { sink = response, last, stalledMs }: EndOptions,
): void {
  const limit = (): void => void response.socket?.setTimeout(stalledMs)
  if (response.socket === null) response.once('socket', limit)
  else limit()
  // Before Node's own listener, which sets the time that an idle connection stays.
  response.prependOnceListener('finish', () => response.socket?.setTimeout(0))
  sink.end(last)
}
