import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'

/** In milliseconds, of which about one is the resolution of the probe. */
export interface LoopDelay {
  readonly p99: number
  readonly longest: number
}

/** The delay of the server's event loop during `work`, measured inside of its process. */
export async function watchDelay<T>(
  probe: string,
  work: () => Promise<T>,
): Promise<readonly [T, LoopDelay]> {
  const socket = connect(probe)
  await once(socket, 'connect')
  try {
    const result = await work()
    socket.end()
    return [result, JSON.parse(await text(socket)) as LoopDelay]
  } finally {
    socket.destroy()
  }
}
