import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { sendError } from '../../inspection/http/answers/send-json.ts'
import type { Clock } from '../../lib/clock.ts'
import { quote } from '../../lib/quote.ts'
import { regularly } from '../../lib/regularly.ts'
import type { FailureLog } from '../../telemetry/failure-log.ts'
import type { CheckAccess, RefusedRequest } from './access/access-check.ts'

/** Milliseconds between two checks of a request that is still being answered. */
const RECHECK_MS = 30_000

/** What the handler uses. */
export interface RemoteHandlerParts {
  readonly checkAccess: CheckAccess
  readonly clock: Pick<Clock, 'after'>
  readonly refusals: Pick<FailureLog, 'report'>
  readonly onError: (error: unknown) => void
}

/**
 * Passes on requests whose sender may read this node, and answers the others with the reason. An answer that goes on
 * for long ends when its reader may not read it any more.
 */
export function remoteHandler(
  handler: RequestListener,
  { checkAccess, clock, refusals, onError }: RemoteHandlerParts,
): RequestListener {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const refusal = await checkAccess(request)
    if (refusal !== undefined) return refuse({ request, response }, refusal, refusals)
    if (response.destroyed) return
    const everyMs = RECHECK_MS
    const round = async () => {
      if ((await checkAccess(request)) !== undefined) response.destroy()
    }
    response.once('close', regularly({ clock, everyMs, round, onError }))
    handler(request, response)
  }
  return (request, response) => {
    answer(request, response).catch((error: unknown) => {
      onError(error)
      response.destroy()
    })
  }
}

function refuse(
  { request, response }: { request: IncomingMessage; response: ServerResponse },
  { status, error, user }: RefusedRequest,
  refusals: Pick<FailureLog, 'report'>,
): void {
  const client = request.socket.remoteAddress ?? ''
  const path = quote(request.url?.split('?', 1)[0])
  refusals.report(String(status), {
    level: 'warn',
    fields: {
      client,
      path,
      status,
      code: error.code,
      ...(user === undefined ? {} : { user: quote(user) }),
    },
    message: `a remote inspection request was refused: ${error.message}`,
    subject: client,
    summary: (clients) => ({ clients: clients.slice(0, 10), status, code: error.code }),
  })
  const headers = status === 401 ? { 'WWW-Authenticate': 'Bearer realm="node-proxy"' } : {}
  sendError({ request, response }, error, { status, headers })
}
