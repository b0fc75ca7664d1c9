import type { ApiClient } from '../../client/http/api-client.ts'
import type { ApiResult } from '../../client/http/failure/failure.ts'
import { type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import { podPath } from './pod-path.ts'

/**
 * Whether a Pod waits for a node, and this one suits it. There is only this
 * node, so its resources decide nothing.
 */
export function isToBind(pod: JsonObject, labels: Readonly<Record<string, string>>): boolean {
  const metadata = objectAt(pod, 'metadata')
  const spec = objectAt(pod, 'spec')
  const scheduler = stringAt(spec, 'schedulerName')
  if (stringAt(spec, 'nodeName') !== '' || stringAt(metadata, 'deletionTimestamp') !== '')
    return false
  if (scheduler !== '' && scheduler !== 'default-scheduler') return false
  const wanted = Object.entries(objectAt(spec, 'nodeSelector'))
  return wanted.every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value)
}

/** Binds a Pod to the node, as it was seen. */
export function bind(
  client: Pick<ApiClient, 'patch'>,
  pod: JsonObject,
  nodeName: string,
): Promise<ApiResult<unknown>> {
  const read = (key: string): string => stringAt(pod, 'metadata', key)
  const path = podPath({ namespace: read('namespace'), name: read('name') })
  const metadata = { uid: read('uid'), resourceVersion: read('resourceVersion') }
  return client.patch(
    path,
    { metadata, spec: { nodeName } },
    { type: 'application/merge-patch+json' },
  )
}
