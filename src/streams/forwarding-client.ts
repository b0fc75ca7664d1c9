import type { Duplex } from 'node:stream'
import { NodeProxyError } from '../lib/error.ts'
import { HEADER } from './serve-forwarding.ts'
import { createSpdySession } from './spdy/spdy-session.ts'

/** Connections to the ports of one Pod. */
export interface ForwardingClient {
  /**
   * A connection to a port. When the Pod does not accept it, it fails with NP_STREAMS_FORWARD in the server's words:
   * at once, or later as the error of the connection.
   */
  connect(port: number): Promise<Duplex>
  /** Resolves when the server is gone or the client was closed. */
  readonly closed: Promise<Error | undefined>
  close(): void
}

const MAX_ERROR_BYTES = 4096

/** Talks `portforward.k8s.io` over SPDY/3.1: `channel` is such a connection, or the messages of a WebSocket. */
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
  error.on('data', (chunk: Buffer) => {
    why = (why + chunk.toString()).slice(0, MAX_ERROR_BYTES)
  })
  error.once('end', () => {
    if (why !== '') data.destroy(new NodeProxyError('NP_STREAMS_FORWARD', shown(why)))
  })
  data.once('close', () => error.resume())
}

/** Without characters that could rewrite a screen or a log's line. */
function shown(text: string): string {
  return text
    .replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
    .slice(0, MAX_SHOWN)
}

const MAX_SHOWN = 400
