import type { PostEvents } from '../../apiserver/audit/sinks/webhook-sink.ts'
import type { Connection } from '../../client/connection/connection.ts'
import { noObserver } from '../../client/http/client-observer.ts'
import { createTransport } from '../../client/http/transport.ts'
import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'

export interface EventsPoster {
  readonly post: PostEvents
  close(): Promise<void>
}

const MAX_ANSWER = 64 << 10

/** Posts audit events to the server of a kubeconfig, at the path of its URL. Follows no redirect. */
export function createEventsPoster(
  connection: Connection,
  userAgent: string,
  clock: Clock,
): EventsPoster {
  const transport = createTransport({ connection, userAgent, clock, observer: noObserver })
  const path = connection.basePath === '' ? '/' : ''
  return {
    async post(body, signal) {
      const contentType = 'application/json'
      const sent = await transport.send({ method: 'POST', path, body, contentType, signal })
      if (!sent.ok) throw new NodeProxyError(sent.failure.errorCode, sent.failure.message)
      // The code decides, also when the rest of the answer never arrives.
      await sent.value.body.dump({ limit: MAX_ANSWER }).catch(() => undefined)
      return sent.value.status
    },
    close: () => transport.close(),
  }
}
