import { type JsonObject } from '../../lib/json.ts'
import type { Written } from '../persist.ts'
import type { Resource } from '../resource.ts'
import type { Serving } from '../serving.ts'
import { Refusal } from '../status.ts'
import { createObject } from '../verbs/create.ts'
import { updateObject } from '../verbs/update.ts'
import { systemRequest } from './system-request.ts'

/** An object that the server itself keeps as it should be. */
export interface KeptObject {
  readonly resource: Resource
  readonly namespace: string
  readonly name: string
  /** What it should be, of what it is; an empty object when there is none. */
  readonly next: (old: JsonObject) => JsonObject
}

/** How often it is decided again when somebody else is as quick. */
const ATTEMPTS = 3

/** Makes the object, or puts it right; what is right is not written. */
export async function ensureObject(
  serving: Serving,
  { resource, namespace, name, next }: KeptObject,
): Promise<Written | Refusal> {
  for (let attempt = 1; ; attempt++) {
    const update = systemRequest('PUT', resource, namespace, name)
    const updated = await updateObject(serving, update, next, false)
    if (updated !== undefined) return updated
    const fresh = { metadata: {}, ...next({}) }
    const named = { ...fresh, metadata: { ...(fresh.metadata as JsonObject), name } }
    const create = systemRequest('POST', resource, namespace, name)
    const created = await createObject(serving, create, named, false)
    const isLate = created instanceof Refusal && created.status.reason === 'AlreadyExists'
    if (!isLate || attempt === ATTEMPTS) return created
  }
}
