import { type Duplex, Readable, Writable } from 'node:stream'
import type { Clock } from '../../lib/clock.ts'
import type { TerminalSize } from '../node-streams.ts'
import { createSpdySession, type SpdySession } from '../spdy/spdy-session.ts'
import type { SpdyStream } from '../spdy/spdy-stream.ts'
import { CHANNEL, channelMessage, readTerminalSize, statusOf } from './channels.ts'
import { type CommandConnection, STREAM_TYPE, type WantedStreams } from './command-client.ts'

/** How long a client may take to open its streams. */
const OPENING_MS = 30_000
const MAX_SIZE_BYTES = 1024

type StreamType = 'error' | 'stdin' | 'stdout' | 'stderr' | 'resize'

/**
 * A client of `v4.channel.k8s.io` over SPDY: it opens a stream for everything that it wants.
 * @returns undefined when these streams are not opened in time; the connection is closed then
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

/** Sizes arrive as JSON documents, each in a frame of its own or followed by a line break. */
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

/**
 * A client of `v4.channel.k8s.io` or `v5.channel.k8s.io`; `messages` are those of its WebSocket. Sends an empty
 * message when the streams are ready, as kube-apiserver does.
 */
export function serveCommandOverWebSocket(
  messages: Duplex,
  wanted: WantedStreams,
): CommandConnection {
  const sizes = new SizeRelay()
  const stdin = wanted.stdin ? inputOf(messages) : undefined
  const stdout = wanted.stdout ? outputTo(messages, CHANNEL.stdout) : undefined
  const stderr = wanted.stderr ? outputTo(messages, CHANNEL.stderr) : undefined
  let isFinished = false
  messages.on('data', (message: Buffer) => {
    // What the client still sends is read, so that its close frame is.
    if (isFinished) return
    const data = message.subarray(1)
    if (message[0] === CHANNEL.stdin && data.length > 0) {
      if (stdin?.push(data) === false) messages.pause()
    } else if (message[0] === CHANNEL.resize) sizes.message(data)
    else if (message[0] === CHANNEL.close && data[0] === CHANNEL.stdin) endInput(stdin)
  })
  const closed = new Promise<void>((resolve) => {
    for (const event of ['end', 'close']) {
      messages.once(event, () => {
        endInput(stdin)
        resolve()
      })
    }
  })
  const [first] = [stdout && CHANNEL.stdout, stderr && CHANNEL.stderr, CHANNEL.error].filter(
    (channel) => channel !== undefined,
  )
  messages.write(Buffer.from([first ?? CHANNEL.error]))
  return {
    stdin,
    stdout,
    stderr,
    closed,
    onResize: (listener) => sizes.listen(listener),
    finish: async (result) => {
      const status = Buffer.from(JSON.stringify(statusOf(result)))
      isFinished = true
      messages.resume()
      messages.end(channelMessage(CHANNEL.error, status))
      await closed
    },
  }
}

function inputOf(messages: Duplex): Readable {
  const input = new Readable({ read: () => messages.resume() })
  input.on('error', () => undefined)
  return input
}

function endInput(stdin: Readable | undefined): void {
  if (stdin !== undefined && !stdin.readableEnded && !stdin.destroyed) stdin.push(null)
}

function outputTo(messages: Duplex, channel: number): Writable {
  const output = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      if (messages.writable) messages.write(channelMessage(channel, chunk), done)
      else done(new Error('the client is gone'))
    },
  })
  output.on('error', () => undefined)
  return output
}

/** Passes sizes of a terminal on, also the latest one from before there was a listener. */
class SizeRelay {
  #listener: ((size: TerminalSize) => void) | undefined
  #latest: TerminalSize | undefined

  listen(listener: (size: TerminalSize) => void): void {
    this.#listener = listener
    if (this.#latest !== undefined) listener(this.#latest)
  }

  message(message: Buffer): void {
    const size = readTerminalSize(message)
    if (size === undefined) return
    this.#latest = size
    this.#listener?.(size)
  }
}
