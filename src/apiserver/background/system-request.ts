import { SERVER_USER } from '../../auth/user.ts'
import type { JsonObject } from '../../lib/json.ts'
import type { ServerContext } from '../context/server-context.ts'
import type { Written } from '../encoding/codec.ts'
import type { ServiceAllocator } from '../kinds/service/service-allocator.ts'
import { type ApiRequest, waitWithoutSlot } from '../request/api-request.ts'
import { RequestDeadline } from '../request/request-deadline.ts'
import { type Resource, servedVersionsOf } from '../resource/resource.ts'
import type { StatusError } from '../status/status.ts'
import { createObject } from '../verbs/create.ts'
import { updateObject, updateOrCreate } from '../verbs/update.ts'

/** The object that a request of the server itself creates or replaces. */
interface SystemRequest {
  readonly method: 'POST' | 'PUT'
  readonly resource: Resource
  readonly namespace: string
  /** Empty: the name is that in the object (POST). */
  readonly name: string
}

/** Milliseconds. Shorter than the timeout of clients, because a server that stops waits for its own requests. */
const TIMEOUT_MS = 5000

/** A request of the server itself. Its caller passes the object to the verb, so the body is empty. */
export function systemRequest(
  { clock }: Pick<ServerContext, 'clock'>,
  { method, resource, namespace, name }: SystemRequest,
): ApiRequest {
  const [served] = servedVersionsOf(resource)
  return {
    method,
    namespace,
    name,
    served: served!,
    user: SERVER_USER,
    subresource: '',
    query: new URLSearchParams(),
    accept: 'application/json',
    contentType: 'application/json',
    userAgent: 'orch-server/system',
    body: Buffer.alloc(0),
    deadline: new RequestDeadline({ clock, timeoutMs: TIMEOUT_MS }),
    waitForOthers: waitWithoutSlot,
    warn: () => undefined,
  }
}

/** The context of background work, whose allocator also has the ranges of addresses and ports. */
export interface BackgroundContext extends ServerContext {
  readonly allocator: ServiceAllocator
}

/** An object that the server itself creates and corrects. */
export interface DesiredObject {
  readonly resource: Resource
  readonly namespace: string
  readonly name: string
  /** Returns the desired state for the current one; `old` is empty when the object does not exist. */
  readonly next: (old: JsonObject) => JsonObject
}

/**
 * Creates or corrects the object; writes nothing when it is as desired.
 * @returns the object in the store, or why the server rejected the write
 */
export async function ensureObject(
  context: ServerContext,
  { resource, namespace, name, next }: DesiredObject,
): Promise<Written | StatusError> {
  const request = systemRequest(context, { method: 'PUT', resource, namespace, name })
  return updateOrCreate(context, request, {
    update: () => updateObject(context, request, next, { dryRun: false, isConditional: false }),
    create: () => {
      const fresh = { metadata: {}, ...next({}) }
      const named = { ...fresh, metadata: { ...(fresh.metadata as JsonObject), name } }
      return createObject(context, { ...request, method: 'POST' }, named, { dryRun: false })
    },
  })
}
