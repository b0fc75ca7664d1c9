import type { JsonObject } from '../../lib/json.ts'
import { stringAt } from '../../lib/json.ts'
import type { ObjectMeta } from './object-meta.ts'
import { readMeta } from './object-meta.ts'

/** The fields of a Lease that controllers read. */
export interface LeaseObject {
  readonly meta: ObjectMeta
  /** `spec.renewTime`, RFC 3339; empty when its holder never renewed it. */
  readonly renewedAt: string
}

/** Reads a Lease as the API server sent it; see `readMeta` for missing fields. */
export function readLease(object: JsonObject): LeaseObject {
  return { meta: readMeta(object), renewedAt: stringAt(object, 'spec', 'renewTime') }
}
