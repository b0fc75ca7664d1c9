import { type FailedAttempt, firstConnection } from '../../lib/tls/first-connection.ts'
import type { ServerContext } from '../context/server-context.ts'
import { type HandlerResult, STREAMING, type StreamRequest } from '../request/api-request.ts'
import { StatusError } from '../status/status.ts'
import { serviceUnavailable, tooManyRequests } from '../status/status-errors.ts'
import { findEndpoint } from './find-endpoint.ts'
import { mayBeNodeError, readNodeError } from './node-error.ts'
import { answeredRefusal, noCredentials, unansweredStatus } from './node-failure.ts'
import { requestNode } from './request-node.ts'
import { sendNodeAnswer } from './send-node-answer.ts'

/**
 * GET and HEAD below `nodes/proxy`: sends the request to the node-proxy of the node with the certificate of this server,
 * never with the credentials of the client, and passes on the answer while it arrives.
 */
export async function forwardToNode(
  context: ServerContext,
  request: StreamRequest,
): Promise<HandlerResult> {
  const endpoint = await findEndpoint(context, request)
  if (endpoint instanceof StatusError) return endpoint
  const { streams, clock, limits } = context
  const { response, method } = request
  const credentials = context.nodeCredentials()
  if (credentials === undefined) return noCredentials(endpoint)
  if (streams.isFull) return tooManyRequests('too many streams at one time', 5)
  if (response.destroyed) return STREAMING
  const over = new AbortController()
  const forget = streams.add(() => over.abort())
  const end = (): void => {
    forget()
    over.abort()
  }
  response.once('close', end)
  const { signal } = over
  const fail = (attempts: readonly FailedAttempt[]): StatusError => {
    end()
    if (streams.isClosed) return serviceUnavailable('the server is stopping')
    return unansweredStatus(endpoint, attempts)
  }
  const { authority: ca, cert, key } = credentials
  const target = { ...endpoint, trust: { ca, cert, key }, connect: context.connectNode }
  const connection = await firstConnection(target, { clock, signal })
  if (!('socket' in connection)) return fail(connection)
  const waiting = { clock, signal, answerMs: limits.requestTimeout }
  const answer = await requestNode(connection, { ...endpoint, method }, waiting)
  const { address, failed } = connection
  if (answer instanceof Error) return fail([...failed, { address, error: answer }])
  const refused = answeredRefusal(endpoint, answer, connection)
  if (refused !== undefined) {
    end()
    return refused
  }
  answer.setTimeout(limits.idleStreamTimeout, () => answer.destroy())
  const body =
    method === 'GET' && mayBeNodeError(answer) ? await readNodeError(endpoint.node, answer) : answer
  if (body instanceof Error) return fail([...failed, { address, error: body }])
  if (body instanceof StatusError) {
    end()
    return body
  }
  void sendNodeAnswer(response, { answer, body }, context).finally(end)
  return STREAMING
}
