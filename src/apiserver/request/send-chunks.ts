import type { ServerResponse } from 'node:http'
import type { Clock } from '../../lib/clock.ts'
import { endResponse } from './end-response.ts'

export interface ChunkOptions {
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
