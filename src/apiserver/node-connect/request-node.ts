import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import type { Clock } from '../../lib/clock.ts'
import type { FirstConnection } from '../../lib/tls/first-connection.ts'
import { keepAlive } from '../request/keep-alive.ts'
import type { NodeEndpoint } from './find-endpoint.ts'

export interface NodeRequest extends Pick<NodeEndpoint, 'port' | 'path'> {
  readonly method: string
}

export interface Waiting {
  readonly clock: Pick<Clock, 'after'>
  /** Ends the request, and its answer. */
  readonly signal: AbortSignal
  /** Milliseconds until the head of the answer. */
  readonly answerMs: number
}

/** Code of an answer that did not come in time. */
export const LATE_ANSWER = 'ANSWER_LATE'

/**
 * The head of the answer, whose body is still to be read; or why there is none, with a `code`. Each request has a connection
 * of its own, so that a replaced certificate counts at once.
 */
export function requestNode(
  { address, socket }: Pick<FirstConnection, 'address' | 'socket'>,
  { port, path, method }: NodeRequest,
  { clock, signal, answerMs }: Waiting,
): Promise<IncomingMessage | Error> {
  const { promise, resolve } = Promise.withResolvers<IncomingMessage | Error>()
  keepAlive(socket)
  const sent = request({
    ...{ host: address, port, path, method, signal },
    createConnection: () => socket,
    headers: { Accept: 'application/json, application/x-ndjson', 'User-Agent': 'orch-server' },
  })
  const late = Object.assign(new Error('too late'), { code: LATE_ANSWER })
  const cancel = clock.after(answerMs, () => sent.destroy(late))
  const settle = (result: IncomingMessage | Error): void => {
    cancel()
    resolve(result)
  }
  sent.once('response', settle)
  sent.on('error', settle)
  sent.once('close', () => settle(new Error('the connection ended without an answer')))
  sent.end()
  return promise
}
