import type { JsonObject } from '../../lib/json.ts'
import { type DocumentForm, documentForm } from '../negotiation/served-document.ts'
import type { ServedVersion } from '../resource/resource.ts'
import { discoveredResource } from './discovered-resource.ts'
import type { ApiGroup } from './groups.ts'

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
    ...{
      subresource: one.name,
      responseKind: { group, version, ...one.groupVersion, kind: one.kind },
    },
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
