import type { JsonObject } from '../../lib/json.ts'
import type { ObjectMeta } from '../objects/object-meta.ts'

/** The owner reference of a slice: the garbage collector deletes the slice after that Service or Endpoints. */
export function ownerReference(
  kind: 'Service' | 'Endpoints',
  { name, uid }: ObjectMeta,
): JsonObject {
  return { apiVersion: 'v1', kind, name, uid, controller: true, blockOwnerDeletion: true }
}
