import type { JsonObject } from '../../lib/json.ts'
import type { ObjectMeta } from './object-meta.ts'
import { readMeta } from './object-meta.ts'

/** An object of which only matters who it is and whose; its contents are not kept. */
export interface OwnedObject {
  readonly meta: ObjectMeta
}

export function readOwned(object: JsonObject): OwnedObject {
  return { meta: { ...readMeta(object), labels: {}, annotations: {} } }
}
