import type { JsonObject } from '../lib/json.ts'
import { apiVersionOf, type Face, facesOf, type Resource } from './resource.ts'

/** What the server says about itself, as documents by path. */
export function discoveryDocuments(
  resources: readonly Resource[],
): ReadonlyMap<string, JsonObject> {
  const faces = resources.flatMap(facesOf)
  const groups = Map.groupBy(
    faces.filter((face) => face.group !== ''),
    (face) => face.group,
  )
  const documents = new Map<string, JsonObject>([
    ['/api', { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] }],
    ['/apis', groupList(groups)],
  ])
  for (const [group, members] of groups) {
    documents.set(`/apis/${group}`, {
      kind: 'APIGroup',
      apiVersion: 'v1',
      ...groupOf(group, members),
    })
  }
  for (const [version, members] of Map.groupBy(faces, apiVersionOf)) {
    const root = members[0]?.group === '' ? '/api' : '/apis'
    documents.set(`${root}/${version}`, resourceList(version, members))
  }
  return documents
}

function groupList(groups: ReadonlyMap<string, readonly Face[]>): JsonObject {
  const list = [...groups].map(([group, members]) => groupOf(group, members))
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: list }
}

function groupOf(group: string, members: readonly Face[]): JsonObject {
  const names = [...new Set(members.map((face) => face.version))]
  const versions = names.map((version) => ({ groupVersion: `${group}/${version}`, version }))
  return { name: group, versions, preferredVersion: versions[0]! }
}

function resourceList(groupVersion: string, faces: readonly Face[]): JsonObject {
  const resources = faces.flatMap(({ resource }) => [
    entry(resource),
    ...(resource.status === undefined ? [] : [statusEntry(resource)]),
  ])
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources }
}

function entry(resource: Resource): JsonObject {
  const { plural, singular, kind, namespaced, shortNames, categories } = resource
  const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']
  return {
    name: plural,
    singularName: singular,
    namespaced,
    kind,
    verbs: verbs.filter((verb) => verb !== 'deletecollection' || plural !== 'namespaces'),
    ...(shortNames.length > 0 ? { shortNames: [...shortNames] } : {}),
    ...(categories.length > 0 ? { categories: [...categories] } : {}),
  }
}

function statusEntry({ plural, kind, namespaced }: Resource): JsonObject {
  const verbs = ['get', 'patch', 'update']
  return { name: `${plural}/status`, singularName: '', namespaced, kind, verbs }
}
