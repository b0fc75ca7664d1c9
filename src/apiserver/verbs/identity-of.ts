import { type JsonObject, objectAt } from '../../lib/json.ts'

const IDENTITY = ['name', 'namespace', 'uid', 'resourceVersion', 'creationTimestamp']

/** The metadata that identifies an object, for the answers of its subresources. */
export function identityOf(object: JsonObject): JsonObject {
  const metadata = Object.entries(objectAt(object, 'metadata'))
  return Object.fromEntries(metadata.filter(([field]) => IDENTITY.includes(field)))
}
