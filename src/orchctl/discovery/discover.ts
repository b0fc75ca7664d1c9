import type { Api } from '../session/api.ts'
import { failureError } from '../session/call-failure.ts'
import { DISCOVERY_ACCEPT, readAggregated } from './aggregated.ts'
import type { ApiResource } from './api-resource.ts'
import { groupVersionsOf, readResourceList, resourceListPath } from './plain.ts'

/**
 * All resources of a server: from two documents where it has aggregated discovery, else from one for each group and
 * version. A group that the server cannot answer for is left out. Preferred versions come first.
 * @throws NodeProxyError when the server cannot be reached or refuses both documents
 */
export async function discover(api: Api): Promise<readonly ApiResource[]> {
  const [core, groups] = await Promise.all(
    ['/api', '/apis'].map((path) => api.send({ path, accept: DISCOVERY_ACCEPT })),
  )
  const [first, second] = [readAggregated(core ?? {}), readAggregated(groups ?? {})]
  if (first !== undefined && second !== undefined) return [...first, ...second]
  const lists = groupVersionsOf(core ?? {}, groups ?? {}).map(async (groupVersion) => {
    const answer = await api.request({ path: resourceListPath(groupVersion) })
    if (answer.ok) return readResourceList(answer.value.body, groupVersion)
    if (answer.failure.code === 0) throw failureError(answer.failure)
    return []
  })
  return (await Promise.all(lists)).flat()
}
