import { arrayAt, type Json, stringAt, stringsAt } from '../../lib/json.ts'
import type { ApiResource, Subresource } from './api-resource.ts'

/** The Accept header of aggregated discovery (KEP-3352), with the plain documents as the last choice. */
export const DISCOVERY_ACCEPT = ['v2', 'v2beta1']
  .map((version) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`)
  .concat('application/json')
  .join(',')

/** The resources of an APIGroupDiscoveryList; undefined: the document is not such a list. */
export function readAggregated(document: Json): readonly ApiResource[] | undefined {
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
