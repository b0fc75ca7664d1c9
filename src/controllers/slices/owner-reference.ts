import type { JsonObject } from '../../lib/json.ts'
import type { ObjectMeta } from '../objects/object-meta.ts'

/** What makes an object go with its owner, a Service or Endpoints. */
export function ownerReference(
  kind: 'Service' | 'Endpoints',
  { name, uid }: ObjectMeta,
): JsonObject {
  return { apiVersion: 'v1', kind, name, uid, controller: true, blockOwnerDeletion: true }
}
