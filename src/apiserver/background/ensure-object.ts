import type { JsonObject } from '../../lib/json.ts'
import type { ServerContext } from '../context/server-context.ts'
import type { Written } from '../encoding/codec.ts'
import type { Resource } from '../resource/resource.ts'
import type { StatusError } from '../status/status.ts'
import { createObject } from '../verbs/create.ts'
import { updateObject, updateOrCreate } from '../verbs/update.ts'
import { systemRequest } from './system-request.ts'

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
