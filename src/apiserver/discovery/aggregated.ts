import type { JsonObject } from '../../lib/json.ts'
import { type DocumentForm, documentForm } from '../negotiation/served-document.ts'
import type { ServedVersion } from '../resource/resource.ts'
import { type ApiGroup, announced } from './groups.ts'

const API_GROUP = 'apidiscovery.k8s.io'
const KIND = 'APIGroupDiscoveryList'

/** All resources of all groups in one document, in the two versions that clients accept. */
export function aggregatedForms(groups: readonly ApiGroup[]): readonly DocumentForm[] {
  return ['v2', 'v2beta1'].map((version) =>
    documentForm(
      ({ type, parameters }) =>
        type === 'application/json' &&
        parameters.get('as') === KIND &&
        parameters.get('g') === API_GROUP &&
        parameters.get('v') === version,
      `application/json;g=${API_GROUP};v=${version};as=${KIND}`,
      () => Buffer.from(JSON.stringify(groupList(version, groups))),
    ),
  )
}

function groupList(version: string, groups: readonly ApiGroup[]): JsonObject {
  return {
    kind: KIND,
    apiVersion: `${API_GROUP}/${version}`,
    metadata: {},
    items: groups.map(({ name, versions }) => ({
      metadata: { name, creationTimestamp: null },
      versions: versions.map((one) => ({
        version: one.version,
        resources: one.servedVersions.map(entry),
        freshness: 'Current',
      })),
    })),
  }
}

function entry(served: ServedVersion): JsonObject {
  const { group, version, resource } = served
  const { verbs, subresources, shortNames, categories } = announced(served)
  const responseKind = { group, version, kind: resource.kind }
  const parts = subresources.map(({ name, kind, type, verbs: able }) => ({
    ...{ subresource: name, responseKind: { group, version, ...type, kind } },
    verbs: [...able],
  }))
  return {
    resource: resource.plural,
    responseKind,
    scope: resource.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: resource.singular,
    verbs: [...verbs],
    ...(shortNames.length > 0 ? { shortNames: [...shortNames] } : {}),
    ...(categories.length > 0 ? { categories: [...categories] } : {}),
    ...(parts.length > 0 ? { subresources: parts } : {}),
  }
}
