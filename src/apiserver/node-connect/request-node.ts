import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import type { Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Clock } from '../../lib/clock.ts'
import type { IpAddress } from '../../lib/ip.ts'
import type { NodeCredentials } from '../context/node-credentials.ts'
import { keepAlive } from '../request/keep-alive.ts'
import type { NodeEndpoint } from './find-endpoint.ts'

export interface NodeRequest extends Omit<NodeEndpoint, 'node'> {
  readonly method: string
  readonly credentials: NodeCredentials
  readonly connect: (address: IpAddress, port: number) => Socket
}

export interface Waiting {
  readonly clock: Pick<Clock, 'after'>
  /** Ends the request, and its answer. */
  readonly signal: AbortSignal
  /** Milliseconds from the connection to the head of the answer. */
  readonly answerMs: number
}

/** Milliseconds for a connection, its TLS handshake included. */
const CONNECT_MS = 5000

/** Codes of the errors that time limits make, beside those of the system and of TLS. */
export const LATE = { connection: 'CONNECTION_LATE', answer: 'ANSWER_LATE' } as const

/**
 * The head of the answer, whose body is still to be read; or why there is none, with a `code`. The node must show a
 * certificate of the authority for its address. Each request has a connection of its own, so that a replaced
 * certificate counts at once.
 */
export function requestNode(
  { address, port, path, method, credentials, connect }: NodeRequest,
  { clock, signal, answerMs }: Waiting,
): Promise<IncomingMessage | Error> {
  const { promise, resolve } = Promise.withResolvers<IncomingMessage | Error>()
  const { cert, key, authority: ca } = credentials
  const sent = request({
    ...{ host: address, port, path, method, signal },
    createConnection() {
      const trust = { cert, key, ca, minVersion: 'TLSv1.2' as const }
      return connectTls({ socket: connect(address, port), host: address, ...trust })
    },
    headers: { Accept: 'application/json, application/x-ndjson', 'User-Agent': 'orch-server' },
  })
  const limit = (ms: number, code: string) =>
    clock.after(ms, () => sent.destroy(Object.assign(new Error('too late'), { code })))
  let cancel = limit(CONNECT_MS, LATE.connection)
  const settle = (result: IncomingMessage | Error): void => {
    cancel()
    resolve(result)
  }
  sent.once('socket', (socket) => {
    keepAlive(socket)
    socket.once('secureConnect', () => {
      cancel()
      cancel = limit(answerMs, LATE.answer)
    })
  })
  sent.once('response', settle)
  sent.on('error', settle)
  sent.once('close', () => settle(new Error('the connection ended without an answer')))
  sent.end()
  return promise
}
