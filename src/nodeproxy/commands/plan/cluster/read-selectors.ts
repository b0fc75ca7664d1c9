import type { ApiClient } from '../../../../client/http/api-client.ts'
import {
  arrayAt,
  isJsonObject,
  type Json,
  type JsonObject,
  objectAt,
  stringAt,
} from '../../../../lib/json.ts'
import type { Manifest } from '../../../../manifests/manifests.ts'

/**
 * The selectors that the Services of these manifests have now, by `namespace/name`. Those that cannot be read, or do not
 * exist, are missing. It takes the right to list Services, which node-proxy has.
 */
export async function readSelectors(
  client: Pick<ApiClient, 'get'>,
  manifests: readonly Manifest[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, JsonObject>> {
  const selectors = new Map<string, JsonObject>()
  for (const { object } of manifests) {
    if (stringAt(object, 'kind') !== 'Service') continue
    const namespace = stringAt(object, 'metadata', 'namespace') || 'default'
    const name = stringAt(object, 'metadata', 'name')
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/services`
    const listed = await client.get(path, {
      query: { fieldSelector: `metadata.name=${name}` },
      signal,
    })
    if (!listed.ok) continue
    const found = arrayAt(listed.value as Json, 'items')
      .filter(isJsonObject)
      .find((one) => stringAt(one, 'metadata', 'name') === name)
    if (found !== undefined)
      selectors.set(`${namespace}/${name}`, objectAt(found, 'spec', 'selector'))
  }
  return selectors
}
