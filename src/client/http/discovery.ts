import { isJsonObject } from '../../lib/json.ts'
import type { ApiClient } from './api-client.ts'
import type { ApiFailure, ApiResult } from './failure.ts'
import { readToEnd } from './list-stream.ts'

/** The API from which to read the endpoints of Services, the best one first. */
export type EndpointsApi = 'discovery.k8s.io/v1' | 'discovery.k8s.io/v1beta1' | 'v1'

/** The paths of the collections. */
export const ENDPOINTS_PATHS: Readonly<Record<EndpointsApi, string>> = {
  'discovery.k8s.io/v1': '/apis/discovery.k8s.io/v1/endpointslices',
  'discovery.k8s.io/v1beta1': '/apis/discovery.k8s.io/v1beta1/endpointslices',
  v1: '/api/v1/endpoints',
}

const SLICES = ['discovery.k8s.io/v1', 'discovery.k8s.io/v1beta1'] as const

/**
 * Finds the best API for endpoints that the server has. The group document lists its versions; if that is missing
 * (404) or forbidden (403), the collections are probed one by one. If the server cannot answer (5xx, unreachable),
 * this is a failure, and the caller repeats the discovery.
 */
export async function discoverEndpointsApi(
  client: ApiClient,
  signal: AbortSignal,
): Promise<ApiResult<EndpointsApi>> {
  const group = await client.get('/apis/discovery.k8s.io', { signal })
  if (group.ok) return { ok: true, value: best(group.value) }
  return isRefusal(group.failure) ? probe(client, signal) : group
}

function best(group: unknown): EndpointsApi {
  const listed = isJsonObject(group) ? group['versions'] : undefined
  const versions = Array.isArray(listed) ? listed.filter(isJsonObject) : []
  const has = (api: EndpointsApi): boolean => versions.some((it) => it['groupVersion'] === api)
  return SLICES.find(has) ?? 'v1'
}

/** Lists each collection. If all are forbidden, returns the best API, so that its failures are reported. */
async function probe(client: ApiClient, signal: AbortSignal): Promise<ApiResult<EndpointsApi>> {
  let forbidden: EndpointsApi | undefined
  for (const api of [...SLICES, 'v1'] as const) {
    const opened = await client.list(ENDPOINTS_PATHS[api], { query: { limit: '1' }, signal })
    const page = opened.ok ? await readToEnd(opened.value) : opened
    if (page.ok) return { ok: true, value: api }
    if (!isRefusal(page.failure)) return page
    if (page.failure.code === 403) forbidden ??= api
  }
  return { ok: true, value: forbidden ?? 'v1' }
}

function isRefusal({ code }: ApiFailure): boolean {
  return code === 403 || code === 404
}
