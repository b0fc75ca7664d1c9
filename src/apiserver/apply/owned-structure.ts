import { type JsonObject, objectAt, without } from '../../lib/json.ts'
import type { ApiRequest } from '../request/api-request.ts'
import { apiVersionOf } from '../resource/resource.ts'
import { messageOf } from '../schema/schema.ts'
import { type Structure, structureOf, unknownStructure } from './structure.ts'

/** The metadata that only the server writes; it has no owner. */
const SERVER_METADATA = [
  'name',
  'namespace',
  'uid',
  'resourceVersion',
  'generation',
  'selfLink',
  'clusterName',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'managedFields',
]

/**
 * Fields are owned in the version that objects are stored in, whatever served version a
 * request uses: a client that applies through several served versions is one owner.
 */
export function ownedVersion(request: ApiRequest): string {
  return apiVersionOf(request.served.resource.versions[0]!)
}

export function ownedStructure(request: ApiRequest): Structure {
  const message = messageOf(ownedVersion(request), request.served.resource.kind)
  return message === undefined ? unknownStructure : structureOf(message)
}

/** The part of an object that a request of this kind can own; its metadata may be empty. */
export function ownedPart(request: ApiRequest, object: JsonObject): JsonObject {
  const { status } = object
  const metadata = without(objectAt(object, 'metadata'), ...SERVER_METADATA)
  const rest = without(object, 'kind', 'apiVersion', 'metadata')
  if (request.served.resource.status === undefined) return { metadata, ...rest }
  if (request.subresource !== 'status') return { metadata, ...without(rest, 'status') }
  return status === undefined ? { metadata } : { metadata, status }
}
