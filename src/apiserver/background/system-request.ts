import type { ServerContext } from '../context/server-context.ts'
import type { ApiRequest } from '../request/api-request.ts'
import { RequestDeadline } from '../request/request-deadline.ts'
import { type Resource, servedVersionsOf } from '../resource/resource.ts'

export interface SystemRequest {
  readonly method: 'POST' | 'PUT'
  readonly resource: Resource
  readonly namespace: string
  readonly name: string
}

/** Shorter than a client's: a server that stops waits for its own requests. */
const TIMEOUT_MS = 5000

/** A request that the server makes of itself, without a body. */
export function systemRequest(
  { clock }: Pick<ServerContext, 'clock'>,
  { method, resource, namespace, name }: SystemRequest,
): ApiRequest {
  const [served] = servedVersionsOf(resource)
  return {
    ...{ method, namespace, name, served: served! },
    subresource: '',
    query: new URLSearchParams(),
    accept: 'application/json',
    contentType: 'application/json',
    userAgent: 'orch-server/system',
    body: Buffer.alloc(0),
    deadline: new RequestDeadline({ clock, timeoutMs: TIMEOUT_MS }),
    warn: () => undefined,
  }
}
