import type { ApiClient } from '../../client/http/api-client.ts'
import { type ApiResult, failureError } from '../../client/http/failure.ts'
import { isJsonObject, type JsonObject, objectAt, scalarText } from '../../lib/json.ts'
import type { ObjectResource } from '../plan/volume-plan.ts'

/** A ConfigMap or Secret of a namespace. */
export interface ObjectName {
  readonly namespace: string
  readonly resource: ObjectResource
  readonly name: string
}

/** The values of a ConfigMap or Secret by key. */
export type ObjectValues = ReadonlyMap<string, Buffer>

/**
 * Reads a ConfigMap or Secret; undefined: it does not exist. A node agent may read only those that its Pods
 * need, each by name. Throws an error of the client when it cannot be read; no message contains a value.
 */
export async function readObjectValues(
  client: Pick<ApiClient, 'get'>,
  { namespace, resource, name }: ObjectName,
): Promise<ObjectValues | undefined> {
  const folder = `/api/v1/namespaces/${encodeURIComponent(namespace)}/${resource}`
  const found: ApiResult<unknown> = await client.get(`${folder}/${encodeURIComponent(name)}`)
  if (found.ok) return valuesOf(isJsonObject(found.value) ? found.value : {}, resource)
  if (found.failure.code === 404) return undefined
  throw failureError(found.failure, `${resource} ${namespace}/${name}`)
}

function valuesOf(object: JsonObject, resource: ObjectResource): ObjectValues {
  const read = (field: string, encoding: 'utf8' | 'base64') =>
    Object.entries(objectAt(object, field)).map(
      ([key, value]) => [key, Buffer.from(scalarText(value), encoding)] as const,
    )
  if (resource === 'secrets') return new Map(read('data', 'base64'))
  return new Map([...read('data', 'utf8'), ...read('binaryData', 'base64')])
}
