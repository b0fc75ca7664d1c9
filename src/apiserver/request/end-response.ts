import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Writable } from 'node:stream'

/** Between two questions of the kernel whether the other side is still there. */
const KEEP_ALIVE_MS = 30_000

export interface EndOptions {
  /** The stream that compresses the answer; absent: it is not compressed. */
  readonly sink?: Writable
  /** The last bytes of the answer. */
  readonly last?: Buffer
  /** Milliseconds after which a client that receives nothing is disconnected. */
  readonly stalledMs: number
}

/**
 * Ends a response. A part of it may still wait in the socket: the request keeps its
 * concurrency slot until the client has received it. The socket's timer, which every received
 * byte starts anew, disconnects a client that receives nothing. The response to a pipelined request
 * has no socket until the responses before it are sent.
 */
export function endResponse(
  response: ServerResponse,
  { sink = response, last, stalledMs }: EndOptions,
): void {
  limitStall(response, stalledMs)
  sink.end(last)
}

/** Disconnects a client that receives nothing for so many milliseconds, until the response has ended. */
export function limitStall(response: ServerResponse, stalledMs: number): void {
  const limit = (): void => void response.socket?.setTimeout(stalledMs)
  if (response.socket === null) response.once('socket', limit)
  else limit()
  // Before Node's own listener, which sets the time that an idle connection stays.
  response.prependOnceListener('finish', () => response.socket?.setTimeout(0))
}

/** Has the kernel find out that the other side of a silent connection is gone. */
export function keepAlive(socket: Pick<Socket, 'setKeepAlive'>): void {
  socket.setKeepAlive(true, KEEP_ALIVE_MS)
}
