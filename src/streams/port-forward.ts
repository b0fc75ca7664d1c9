import type { Duplex } from 'node:stream'
import type { Clock } from '../lib/clock.ts'
import { NodeProxyError } from '../lib/error.ts'
import { MAX_PORT } from '../lib/port-range.ts'
import { StreamRefusal } from './node-streams.ts'
import { createSpdySession, type SpdySession } from './spdy/spdy-session.ts'
import type { SpdyStream } from './spdy/spdy-stream.ts'

/** Connections to the ports of one Pod. */
export interface ForwardingClient {
  /**
   * A connection to a port. Where the Pod refuses it, this rejects with NP_STREAMS_FORWARD and the reason of the
   * server, or the connection fails with it later.
   */
  connect(port: number): Promise<Duplex>
  /** Resolves when the server is gone or the client was closed. */
  readonly closed: Promise<Error | undefined>
  close(): void
}

const MAX_ERROR_LENGTH = 4096

/** Speaks `portforward.k8s.io` over SPDY/3.1: `channel` is such a connection, or the messages of a WebSocket. */
export function createForwardingClient(channel: Duplex): ForwardingClient {
  const session = createSpdySession(channel, { role: 'client' })
  let requests = 0
  return {
    closed: session.closed,
    close: () => session.close(),
    connect: async (port) => {
      const headers = { [HEADER.port]: String(port), [HEADER.request]: String(requests++) }
      const open = (type: string) =>
        session.open(new Map(Object.entries({ [HEADER.type]: type, ...headers })))
      const [error, data] = [open('error'), open('data')]
      error.bytes.end()
      failWith(error.bytes, data.bytes)
      await Promise.all([error.accepted, data.accepted])
      if (data.bytes.errored !== null) throw data.bytes.errored
      return data.bytes
    },
  }
}

/** The error stream says why a connection failed. */
function failWith(error: Duplex, data: Duplex): void {
  let why = ''
  error.setEncoding('utf8').on('data', (text: string) => {
    why = (why + text).slice(0, MAX_ERROR_LENGTH)
  })
  error.once('end', () => {
    if (why !== '') data.destroy(new NodeProxyError('NP_STREAMS_FORWARD', shown(why)))
  })
}

/** Without characters that could rewrite a screen or a log's line. */
function shown(text: string): string {
  return text
    .replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
    .slice(0, MAX_SHOWN)
}

const MAX_SHOWN = 400

/** The protocol of forwarded ports over SPDY. */
export const PORT_FORWARD = 'portforward.k8s.io'

/** SPDY/3.1 in the binary messages of a WebSocket, with the same protocol inside. */
export const TUNNELLED_PORT_FORWARD = 'SPDY/3.1+portforward.k8s.io'

/** Headers of the two streams of each connection. */
const HEADER = { type: 'streamtype', port: 'port', request: 'requestid' } as const

export interface ForwardingOptions {
  /** Opens a connection to a port of the Pod, or returns why that failed. */
  readonly connect: (port: number) => Promise<Duplex | StreamRefusal>
  readonly clock: Clock
}

/** The first stream of a connection, whose other one has not come yet. */
interface Waiting {
  readonly type: 'error' | 'data'
  readonly stream: SpdyStream
  readonly cancel: () => void
}

/** How long the second stream of a connection may take to be opened. */
const PAIRING_MS = 30_000
const PORT = /^[1-9][0-9]{0,4}$/

/**
 * Serves a client of `portforward.k8s.io`: it opens two streams for each connection, one for the data
 * and one for an error. The channel is a connection that was upgraded to SPDY/3.1, or the messages of a WebSocket.
 */
export function serveForwarding(
  channel: Duplex,
  { connect, clock }: ForwardingOptions,
): SpdySession {
  const waiting = new Map<string, Waiting>()
  const wait = (request: string, type: Waiting['type'], stream: SpdyStream): void => {
    const cancel = clock.after(PAIRING_MS, () => stream.bytes.destroy())
    waiting.set(request, { type, stream, cancel })
    stream.bytes.once('close', () => {
      if (waiting.get(request)?.stream !== stream) return
      waiting.delete(request)
      cancel()
    })
  }
  const session = createSpdySession(channel, {
    role: 'server',
    onStream: (stream) => {
      const request = stream.headers.get(HEADER.request) ?? ''
      const type = stream.headers.get(HEADER.type)
      const isKnown = type === 'error' || type === 'data'
      const other = waiting.get(request)
      if (request === '' || !isKnown || other?.type === type) return void stream.bytes.destroy()
      stream.accept()
      if (other === undefined) return wait(request, type, stream)
      waiting.delete(request)
      other.cancel()
      const [error, data] = type === 'data' ? [other.stream, stream] : [stream, other.stream]
      void forward(connect, { error: error.bytes, data })
    },
  })
  void session.closed.then(() => {
    for (const { cancel } of waiting.values()) cancel()
  })
  return session
}

/** One connection, until both directions have ended. Never rejects. */
async function forward(
  connect: ForwardingOptions['connect'],
  { error, data: { headers, bytes } }: { readonly error: Duplex; readonly data: SpdyStream },
): Promise<void> {
  error.resume()
  const port = headers.get(HEADER.port) ?? ''
  const isPort = PORT.test(port) && Number(port) <= MAX_PORT
  const connection = isPort
    ? await connect(Number(port)).catch(() => new StreamRefusal('failed', 'the node failed'))
    : new StreamRefusal('invalid', 'the header port is no port')
  if (connection instanceof StreamRefusal) {
    error.end(connection.why)
    bytes.resume()
    bytes.end()
    return
  }
  if (bytes.destroyed) connection.destroy()
  connection.on('error', (failure) => {
    const isReported = failure instanceof NodeProxyError && failure.code === 'NP_STREAMS_FORWARD'
    if (isReported && !error.writableEnded) error.end(failure.message)
    connection.destroy()
  })
  bytes.pipe(connection).pipe(bytes)
  bytes.once('close', () => connection.destroy())
  connection.once('close', () => {
    if (!bytes.writableEnded) bytes.end()
    bytes.resume()
    if (!error.writableEnded) error.end()
  })
}
