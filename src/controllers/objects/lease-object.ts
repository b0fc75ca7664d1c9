import type { JsonObject } from '../../lib/json.ts'
import { stringAt } from '../../lib/json.ts'
import type { ObjectMeta } from './object-meta.ts'
import { readMeta } from './object-meta.ts'

/** What controllers need to know of a Lease. */
export interface LeaseObject {
  readonly meta: ObjectMeta
  /** When its holder was last heard of, RFC 3339; empty when never. */
  readonly renewedAt: string
}

export function readLease(object: JsonObject): LeaseObject {
  return { meta: readMeta(object), renewedAt: stringAt(object, 'spec', 'renewTime') }
}
