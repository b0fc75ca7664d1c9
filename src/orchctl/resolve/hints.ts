import { arrayAt, stringAt } from '../../lib/json.ts'
import type { Api } from '../session/api.ts'
import type { ClusterObjects } from './cluster-objects.ts'
import type { Walked } from './walk.ts'
import { zoneNameOf } from './zone-name.ts'

/** Namespaces that are named. */
const SHOWN = 5

/** What helps where a name has no records, or not those that the user expects. */
export async function hintsOf(
  name: string,
  walked: Walked,
  objects: ClusterObjects,
  api: Api,
): Promise<string[]> {
  const own = walked.resolved === '' ? await elsewhere(name, api) : ofResolved(walked, objects)
  const answers = walked.candidates.flatMap((candidate) => candidate.answers)
  const isUnread = answers.some(({ status }) => status === 'UNKNOWN')
  const isRefused = answers.some(
    ({ status, server }) => server?.status === 'REFUSED' && status !== 'FORWARDED',
  )
  return [
    ...own,
    ...(isUnread
      ? ['some objects cannot be read: orchctl auth can-i --list shows the rights']
      : []),
    ...(isRefused ? ['the server answers only clients of its --dns-client-networks'] : []),
    ...objects.problems,
  ]
}

/** Services of that name in other namespaces, as far as the caller may list them. */
async function elsewhere(name: string, api: Api): Promise<readonly string[]> {
  const service = name.split('.').find((label) => !label.startsWith('_')) ?? ''
  const query = { fieldSelector: `metadata.name=${service}`, limit: '50' }
  const answer = await api.request({ path: '/api/v1/services', query })
  if (!answer.ok) return []
  const namespaces = arrayAt(answer.value.body, 'items').map((one) =>
    stringAt(one, 'metadata', 'namespace'),
  )
  if (namespaces.length === 0) return []
  const names = namespaces.slice(0, SHOWN).map((namespace) => `${service}.${namespace}`)
  return [`a Service ${service} has the name ${names.join(', ')}`]
}

function ofResolved({ candidates, resolved }: Walked, objects: ClusterObjects): readonly string[] {
  const hints: string[] = []
  const earlier = candidates.find(
    ({ name, queried, answers }) =>
      queried && name !== resolved && answers.every(({ status }) => status === 'NODATA'),
  )
  if (earlier !== undefined) {
    hints.push(
      `musl (Alpine) ends its search at ${earlier.name}, which exists without such records`,
    )
  }
  const part = zoneNameOf(resolved, objects.domain)
  const service = part.kind === 'service' ? objects.service(part.key) : undefined
  if (service === undefined || service.clusterIPs.length === 0) return hints
  if (!objects.factsOf(service.key).some(({ isReady }) => isReady)) {
    hints.push(`Service ${service.key} has no ready endpoint: the name resolves, connections fail`)
  }
  return hints
}
