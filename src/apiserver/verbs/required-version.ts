import { type JsonObject, stringAt } from '../../lib/json.ts'

/** The version that an object sent by a client must replace; empty: any. "0" means any, too. */
export function requiredVersion(object: JsonObject): string {
  const version = stringAt(object, 'metadata', 'resourceVersion')
  return version === '0' ? '' : version
}
