import { arrayAt, type Json, stringAt, stringsAt, valueAt } from '../../lib/json.ts'
import type { Api } from '../session/api.ts'
import { failureError } from '../session/call-failure.ts'
import type { ApiResource, Subresource } from './api-resource.ts'

/**
 * All resources of a server: from two documents if it has aggregated discovery, else from one document for each group
 * and version. A group whose document fails is left out. Preferred versions come first.
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

/** The groups and versions of `/api` and `/apis`, the preferred version of each group first. */
function groupVersionsOf(core: Json, groups: Json): readonly string[] {
  const others = arrayAt(groups, 'groups').flatMap((group) => {
    const preferred = stringAt(group, 'preferredVersion', 'groupVersion')
    const all = arrayAt(group, 'versions').map((version) => stringAt(version, 'groupVersion'))
    return [...new Set([preferred, ...all])].filter((one) => one !== '')
  })
  return [...stringsAt(core, 'versions'), ...others]
}

/** The path of the APIResourceList of a group and version. */
function resourceListPath(groupVersion: string): string {
  return groupVersion.includes('/') ? `/apis/${groupVersion}` : `/api/${groupVersion}`
}

/** The resources of an APIResourceList. */
function readResourceList(document: Json, groupVersion: string): readonly ApiResource[] {
  const [version = '', group = ''] = groupVersion.split('/').toReversed()
  const entries = arrayAt(document, 'resources')
  const named = (entry: Json): string => stringAt(entry, 'name')
  const subresourcesOf = (plural: string) =>
    entries
      .filter((entry) => named(entry).startsWith(`${plural}/`))
      .map((entry) => ({
        name: named(entry).slice(plural.length + 1),
        kind: stringAt(entry, 'kind'),
        verbs: stringsAt(entry, 'verbs'),
      }))
  return entries
    .filter((entry) => !named(entry).includes('/'))
    .map((entry) => ({
      group,
      version,
      kind: stringAt(entry, 'kind'),
      plural: named(entry),
      singular: stringAt(entry, 'singularName') || stringAt(entry, 'kind').toLowerCase(),
      shortNames: stringsAt(entry, 'shortNames'),
      namespaced: valueAt(entry, 'namespaced') === true,
      verbs: stringsAt(entry, 'verbs'),
      categories: stringsAt(entry, 'categories'),
      subresources: subresourcesOf(named(entry)),
    }))
}

/** The Accept header of aggregated discovery (KEP-3352), with the plain documents as the last choice. */
const DISCOVERY_ACCEPT = ['v2', 'v2beta1']
  .map((version) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`)
  .concat('application/json')
  .join(',')

/** The resources of an APIGroupDiscoveryList; undefined: the document is not such a list. */
function readAggregated(document: Json): readonly ApiResource[] | undefined {
  if (stringAt(document, 'kind') !== 'APIGroupDiscoveryList') return undefined
  return arrayAt(document, 'items').flatMap((group) =>
    arrayAt(group, 'versions').flatMap((version) =>
      arrayAt(version, 'resources').map((resource) =>
        readResource(resource, stringAt(group, 'metadata', 'name'), stringAt(version, 'version')),
      ),
    ),
  )
}

function readResource(entry: Json, group: string, version: string): ApiResource {
  const kind = stringAt(entry, 'responseKind', 'kind')
  return {
    group,
    version,
    kind,
    plural: stringAt(entry, 'resource'),
    singular: stringAt(entry, 'singularResource') || kind.toLowerCase(),
    shortNames: stringsAt(entry, 'shortNames'),
    namespaced: stringAt(entry, 'scope') === 'Namespaced',
    verbs: stringsAt(entry, 'verbs'),
    categories: stringsAt(entry, 'categories'),
    subresources: arrayAt(entry, 'subresources').map(readSubresource),
  }
}

function readSubresource(entry: Json): Subresource {
  return {
    name: stringAt(entry, 'subresource'),
    kind: stringAt(entry, 'responseKind', 'kind'),
    verbs: stringsAt(entry, 'verbs'),
  }
}

/**
 * Each resource once: in the version that the server prefers, else in the first version that has it. Sorted by group,
 * the core group first, then by name.
 */
export function preferredResources(resources: readonly ApiResource[]): readonly ApiResource[] {
  const first = new Map<string, ApiResource>()
  for (const one of resources) first.getOrInsert(`${one.group} ${one.plural}`, one)
  return [...first].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one)
}
