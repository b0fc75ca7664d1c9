import type { Duplex } from 'node:stream'
import type { Clock } from '../../lib/clock.ts'
import { createSpdySession, type SpdySession } from '../spdy/spdy-session.ts'
import type { SpdyStream } from '../spdy/spdy-stream.ts'
import { statusOf } from './channels.ts'
import type { CommandConnection, WantedStreams } from './command-client.ts'
import { SizeRelay } from './size-relay.ts'

/** The header of a stream that says which one it is. */
const STREAM_TYPE = 'streamtype'
/** How long a client may take to open its streams. */
const OPENING_MS = 30_000
const MAX_SIZE_BYTES = 1024

type StreamType = 'error' | 'stdin' | 'stdout' | 'stderr' | 'resize'

/**
 * A client of `v4.channel.k8s.io` over SPDY: it opens a stream for everything that it wants.
 * @returns undefined when the streams do not come in time, or others do; the connection is closed then
 */
export async function serveCommandOverSpdy(
  channel: Duplex,
  wanted: WantedStreams,
  clock: Clock,
): Promise<CommandConnection | undefined> {
  const expected = expectedTypes(wanted)
  const streams = new Map<StreamType, SpdyStream>()
  const complete = Promise.withResolvers<boolean>()
  const session = createSpdySession(channel, {
    role: 'server',
    onStream: (stream) => {
      const type = stream.headers.get(STREAM_TYPE) as StreamType
      if (!expected.has(type) || streams.has(type)) return void stream.bytes.destroy()
      stream.accept()
      streams.set(type, stream)
      if (streams.size === expected.size) complete.resolve(true)
    },
  })
  const cancel = clock.after(OPENING_MS, () => complete.resolve(false))
  void session.closed.then(() => complete.resolve(false))
  const isComplete = await complete.promise
  cancel()
  if (isComplete) return connectionOf(session, streams)
  session.close()
  return undefined
}

function expectedTypes({ stdin, stdout, stderr, tty }: WantedStreams): ReadonlySet<StreamType> {
  return new Set<StreamType>([
    'error',
    ...(stdin ? (['stdin'] as const) : []),
    ...(stdout ? (['stdout'] as const) : []),
    ...(stderr && !tty ? (['stderr'] as const) : []),
    ...(tty ? (['resize'] as const) : []),
  ])
}

function connectionOf(
  session: SpdySession,
  streams: ReadonlyMap<StreamType, SpdyStream>,
): CommandConnection {
  const bytesOf = (type: StreamType): Duplex | undefined => streams.get(type)?.bytes
  const sizes = new SizeRelay()
  for (const type of ['error', 'stdout', 'stderr'] as const) bytesOf(type)?.resume()
  readSizes(bytesOf('resize'), sizes)
  return {
    stdin: bytesOf('stdin'),
    stdout: bytesOf('stdout'),
    stderr: bytesOf('stderr'),
    onResize: (listener) => sizes.listen(listener),
    finish: async (result) => {
      for (const type of ['stdout', 'stderr'] as const) bytesOf(type)?.end()
      bytesOf('stdin')?.resume()
      const error = bytesOf('error')
      await new Promise<void>((resolve) => {
        error?.once('close', resolve)
        error?.end(JSON.stringify(statusOf(result)), resolve)
      })
      session.close()
    },
    closed: session.closed.then(() => undefined),
  }
}

/** Sizes come as documents one after the other, each in a frame of its own or ended by a line. */
function readSizes(resize: Duplex | undefined, sizes: SizeRelay): void {
  let kept = ''
  resize?.on('data', (chunk: Buffer) => {
    kept = (kept + chunk.toString('latin1')).slice(-MAX_SIZE_BYTES)
    const end = kept.lastIndexOf('}')
    if (end < 0) return
    const begin = kept.lastIndexOf('{', end)
    sizes.message(Buffer.from(kept.slice(begin, end + 1)))
    kept = kept.slice(end + 1)
  })
}
