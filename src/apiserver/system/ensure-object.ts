import type { JsonObject } from '../../lib/json.ts'
import type { Written } from '../persist.ts'
import type { Resource } from '../resource.ts'
import type { Serving } from '../serving.ts'
import type { Refusal } from '../status.ts'
import { createObject } from '../verbs/create.ts'
import { updateObject } from '../verbs/update.ts'
import { updateOrCreate } from '../verbs/update-or-create.ts'
import { systemRequest } from './system-request.ts'

/** An object that the server itself keeps as it should be. */
export interface KeptObject {
  readonly resource: Resource
  readonly namespace: string
  readonly name: string
  /** What it should be, of what it is; an empty object when there is none. */
  readonly next: (old: JsonObject) => JsonObject
}

/** Makes the object, or puts it right; what is right is not written. */
export async function ensureObject(
  serving: Serving,
  { resource, namespace, name, next }: KeptObject,
): Promise<Written | Refusal> {
  const request = systemRequest(serving, { method: 'PUT', resource, namespace, name })
  return updateOrCreate(serving, request, {
    update: () => updateObject(serving, request, next, { dryRun: false, isConditional: false }),
    create: () => {
      const fresh = { metadata: {}, ...next({}) }
      const named = { ...fresh, metadata: { ...(fresh.metadata as JsonObject), name } }
      return createObject(serving, { ...request, method: 'POST' }, named, false)
    },
  })
}
