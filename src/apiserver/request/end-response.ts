import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Writable } from 'node:stream'
import type { Clock } from '../../lib/clock.ts'

/** Milliseconds of silence after which the kernel sends TCP keep-alive probes. */
const KEEP_ALIVE_MS = 30_000

interface EndOptions {
  /** The stream that compresses the answer; absent: it is not compressed. */
  readonly sink?: Writable
  /** The last bytes of the answer. */
  readonly last?: Buffer
  /** Milliseconds after which a client that receives no bytes is disconnected. */
  readonly stalledMs: number
}

/**
 * Ends a response. Part of it may still wait in the socket, and the request keeps its concurrency slot until
 * the client has received it. The socket's timer, which restarts with every received byte, disconnects a client
 * that receives nothing. The response to a pipelined request has no socket until the responses before it are
 * sent.
 */
export function endResponse(
  response: ServerResponse,
  { sink = response, last, stalledMs }: EndOptions,
): void {
  limitStall(response, stalledMs)
  sink.end(last)
}

/** Until the response has ended, disconnects the client if it receives nothing for this many milliseconds. */
export function limitStall(response: ServerResponse, stalledMs: number): void {
  const limit = (): void => void response.socket?.setTimeout(stalledMs)
  if (response.socket === null) response.once('socket', limit)
  else limit()
  // Must run before Node's own listener, which sets the timeout of an idle connection.
  response.prependOnceListener('finish', () => response.socket?.setTimeout(0))
}

/** Makes the kernel detect when the peer of a silent connection is gone. */
export function keepAlive(socket: Pick<Socket, 'setKeepAlive'>): void {
  socket.setKeepAlive(true, KEEP_ALIVE_MS)
}

interface ChunkOptions {
  readonly clock: Pick<Clock, 'after'>
  /** Milliseconds after which a client that reads nothing is disconnected. */
  readonly stalledMs: number
}

/**
 * Sends the body of a response whose head was already sent, as fast as the client reads it, and ends the
 * response. Throws what `chunks` throws.
 */
export async function sendChunks(
  response: ServerResponse,
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>,
  options: ChunkOptions,
): Promise<void> {
  for await (const chunk of chunks) {
    if (!response.destroyed && !response.write(chunk)) await drained(response, options)
    if (response.destroyed) return
  }
  endResponse(response, options)
}

/** Resolves when the client has read what was written, or has disconnected. */
function drained(response: ServerResponse, { clock, stalledMs }: ChunkOptions): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const cancel = clock.after(stalledMs, () => response.destroy())
  const end = (): void => {
    cancel()
    response.off('drain', end).off('close', end)
    resolve()
  }
  response.on('drain', end).on('close', end)
  return promise
}
