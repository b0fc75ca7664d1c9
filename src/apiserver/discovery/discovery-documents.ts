import type { JsonObject } from '../../lib/json.ts'
import {
  type DocumentForm,
  documentForm,
  jsonForm,
  type ServedDocument,
} from '../negotiation/served-document.ts'
import {
  apiVersionOf,
  type Resource,
  type ServedVersion,
  servedVersionsOf,
} from '../resource/resource.ts'
import { groupVersionPath } from '../resource/resource-paths.ts'
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

/** An API group with its versions, the preferred one first, and the resources of each. */
interface ApiGroup {
  /** `apps`; empty for the core group. */
  readonly name: string
  readonly versions: readonly {
    readonly version: string
    readonly servedVersions: readonly ServedVersion[]
  }[]
}

const OWN_GROUP = /(^|\.)orch\.io$/

const API_GROUP = 'apidiscovery.k8s.io'
const KIND = 'APIGroupDiscoveryList'

/**
 * Aggregated discovery (KEP-3352): all resources of all groups in one document, in the two versions of
 * `apidiscovery.k8s.io` that clients accept.
 */
function aggregatedForms(groups: readonly ApiGroup[]): readonly DocumentForm[] {
  return ['v2', 'v2beta1'].map((version) =>
    documentForm(
      ({ type, parameters }) =>
        type === 'application/json' &&
        parameters.get('as') === KIND &&
        parameters.get('g') === API_GROUP &&
        parameters.get('v') === version,
      `application/json;g=${API_GROUP};v=${version};as=${KIND}`,
      () => Buffer.from(JSON.stringify(discoveryList(version, groups))),
    ),
  )
}

function discoveryList(version: string, groups: readonly ApiGroup[]): JsonObject {
  return {
    kind: KIND,
    apiVersion: `${API_GROUP}/${version}`,
    metadata: {},
    items: groups.map(({ name, versions }) => ({
      metadata: { name, creationTimestamp: null },
      versions: versions.map((one) => ({
        version: one.version,
        resources: one.servedVersions.map(aggregatedEntry),
        freshness: 'Current',
      })),
    })),
  }
}

function aggregatedEntry(served: ServedVersion): JsonObject {
  const { group, version, resource } = served
  const { verbs, shortNames, categories, ...discovered } = discoveredResource(served)
  const responseKind = { group, version, kind: resource.kind }
  const subresources = discovered.subresources.map((one) => ({
    subresource: one.name,
    responseKind: { group, version, ...one.groupVersion, kind: one.kind },
    verbs: [...one.verbs],
  }))
  return {
    resource: resource.plural,
    responseKind,
    scope: resource.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: resource.singular,
    verbs: [...verbs],
    ...(shortNames.length > 0 ? { shortNames: [...shortNames] } : {}),
    ...(categories.length > 0 ? { categories: [...categories] } : {}),
    ...(subresources.length > 0 ? { subresources } : {}),
  }
}

/**
 * The groups in the order in which clients try them: those of Kubernetes before those of this project, because
 * `kubectl describe` knows only the kinds of the former.
 */
function apiGroups(resources: readonly Resource[]): readonly ApiGroup[] {
  const servedVersions = Map.groupBy(resources.flatMap(servedVersionsOf), (served) => served.group)
  const groups = [...servedVersions].map(([name, members]) => ({
    name,
    versions: versionsOf(members),
  }))
  const isOwn = ({ name }: ApiGroup): boolean => OWN_GROUP.test(name)
  return [...groups.filter((group) => !isOwn(group)), ...groups.filter(isOwn)]
}

function versionsOf(servedVersions: readonly ServedVersion[]): ApiGroup['versions'] {
  const versions = Map.groupBy(servedVersions, (served) => served.version)
  return [...versions].map(([version, members]) => ({ version, servedVersions: members }))
}
