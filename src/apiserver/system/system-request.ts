import type { ApiRequest } from '../api-request.ts'
import { facesOf, type Resource } from '../resource.ts'

/** A request that the server makes of itself, without a body. */
export function systemRequest(
  method: 'POST' | 'PUT',
  resource: Resource,
  namespace: string,
  name: string,
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
    warn: () => undefined,
  }
}
