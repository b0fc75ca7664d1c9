import type { JsonObject } from '../../lib/json.ts'
import { jsonForm, type ServedDocument } from '../negotiation/served-document.ts'
import { apiVersionOf, type Resource, type ServedVersion } from '../resource/resource.ts'
import { groupVersionPath } from '../resource/resource-paths.ts'
import { type ApiGroup, aggregatedForms, apiGroups } from './aggregated.ts'
import { discoveredResource } from './discovered-resource.ts'

/**
 * The documents by which clients discover groups, versions and resources, by path. `/api` and `/apis` have two more
 * forms, which contain everything at once (`aggregatedForms`).
 */
export function discoveryDocuments(
  resources: readonly Resource[],
): ReadonlyMap<string, ServedDocument> {
  const groups = apiGroups(resources)
  const core = groups.filter(({ name }) => name === '')
  const named = groups.filter(({ name }) => name !== '')
  return new Map<string, ServedDocument>([
    ['/api', [...aggregatedForms(core), jsonForm(() => versionList(core))]],
    ['/apis', [...aggregatedForms(named), jsonForm(() => groupList(named))]],
    ...named.map(
      (group) => [`/apis/${group.name}`, [jsonForm(() => groupDocument(group))]] as const,
    ),
    ...groups.flatMap(resourceDocuments),
  ])
}

function versionList(core: readonly ApiGroup[]): JsonObject {
  const versions = core.flatMap((group) => group.versions.map(({ version }) => version))
  return { kind: 'APIVersions', versions, serverAddressByClientCIDRs: [] }
}

function groupList(groups: readonly ApiGroup[]): JsonObject {
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map(groupEntry) }
}

function groupDocument(group: ApiGroup): JsonObject {
  return { kind: 'APIGroup', apiVersion: 'v1', ...groupEntry(group) }
}

function groupEntry({ name, versions: members }: ApiGroup): JsonObject {
  const versions = members.map(({ version }) => ({ groupVersion: `${name}/${version}`, version }))
  return { name, versions, preferredVersion: versions[0]! }
}

function resourceDocuments({ name, versions }: ApiGroup) {
  return versions.map(({ version, servedVersions }) => {
    const groupVersion = { group: name, version }
    const document = jsonForm(() => resourceList(apiVersionOf(groupVersion), servedVersions))
    return [groupVersionPath(groupVersion), [document]] as const
  })
}

function resourceList(groupVersion: string, servedVersions: readonly ServedVersion[]): JsonObject {
  const resources = servedVersions.flatMap((served) => [
    resourceEntry(served),
    ...subresourceEntries(served),
  ])
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources }
}

function resourceEntry(served: ServedVersion): JsonObject {
  const { plural, singular, kind, namespaced } = served.resource
  const { verbs, shortNames, categories } = discoveredResource(served)
  return {
    name: plural,
    singularName: singular,
    namespaced,
    kind,
    verbs: [...verbs],
    ...(shortNames.length > 0 ? { shortNames: [...shortNames] } : {}),
    ...(categories.length > 0 ? { categories: [...categories] } : {}),
  }
}

function subresourceEntries(served: ServedVersion): readonly JsonObject[] {
  const { plural, namespaced } = served.resource
  return discoveredResource(served).subresources.map(({ name, kind, groupVersion, verbs }) => ({
    name: `${plural}/${name}`,
    singularName: '',
    namespaced,
    ...groupVersion,
    kind,
    verbs: [...verbs],
  }))
}
