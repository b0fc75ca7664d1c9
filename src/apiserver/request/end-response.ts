import type { ServerResponse } from 'node:http'
import type { Writable } from 'node:stream'

export interface EndOptions {
  /** What compresses the answer; absent: nothing does. */
  readonly sink?: Writable
  /** The last bytes of the answer. */
  readonly last?: Buffer
  /** Milliseconds in which the client must take something of what is left. */
  readonly stalledMs: number
}

/**
 * Ends an answer of which the socket may still hold a part: as long as the client
 * takes none of it, the request keeps its place among those that are served. The
 * socket's own timer, which every byte that is taken starts anew, disconnects a
 * client that takes nothing. An answer to a pipelined request has no socket before the
 * answers ahead of it are sent.
 */
export function endAnswer(
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
