import type { JsonObject } from '../../lib/json.ts'
import { type DocumentForm, documentForm } from '../negotiation/served-document.ts'
import { type Resource, type ServedVersion, servedVersionsOf } from '../resource/resource.ts'
import { discoveredResource } from './discovered-resource.ts'

/** An API group with its versions, the preferred one first, and the resources of each. */
export interface ApiGroup {
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
export function aggregatedForms(groups: readonly ApiGroup[]): readonly DocumentForm[] {
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
        resources: one.servedVersions.map(resourceEntry),
        freshness: 'Current',
      })),
    })),
  }
}

function resourceEntry(served: ServedVersion): JsonObject {
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
export function apiGroups(resources: readonly Resource[]): readonly ApiGroup[] {
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
