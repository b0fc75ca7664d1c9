import type { ApiRequest } from '../api-request.ts'
import { RequestDeadline } from '../request-deadline.ts'
import { facesOf, type Resource } from '../resource.ts'
import type { Serving } from '../serving.ts'

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
  { clock }: Pick<Serving, 'clock'>,
  { method, resource, namespace, name }: SystemRequest,
): ApiRequest {
  const [face] = facesOf(resource)
  return {
    ...{ method, namespace, name, face: face! },
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
