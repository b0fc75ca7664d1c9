import { type Resource, type ServedVersion, servedVersionsOf } from '../resource/resource.ts'
import { SCALE } from '../verbs/scale.ts'

/** An API group with its versions, the preferred one first. */
export interface ApiGroup {
  /** Empty: the core group. */
  readonly name: string
  readonly versions: readonly {
    readonly version: string
    readonly servedVersions: readonly ServedVersion[]
  }[]
}

const OWN_BRAND = /(^|\.)orch\.io$/

/**
 * The groups in the order in which clients try them: the names of Kubernetes come
 * before this project's, because clients know how to describe only the former.
 */
export function apiGroups(resources: readonly Resource[]): readonly ApiGroup[] {
  const servedVersions = Map.groupBy(resources.flatMap(servedVersionsOf), (served) => served.group)
  const groups = [...servedVersions].map(([name, members]) => ({
    name,
    versions: versionsOf(members),
  }))
  const [own = [], kubernetes = []] = [true, false].map((brand) =>
    groups.filter(({ name }) => OWN_BRAND.test(name) === brand),
  )
  return [...kubernetes, ...own]
}

function versionsOf(servedVersions: readonly ServedVersion[]): ApiGroup['versions'] {
  const versions = Map.groupBy(servedVersions, (served) => served.version)
  return [...versions].map(([version, members]) => ({ version, servedVersions: members }))
}

export interface DiscoveredSubresource {
  readonly name: string
  readonly kind: string
  /** Of the kind; absent: those of the resource. */
  readonly type?: { readonly group: string; readonly version: string }
  readonly verbs: readonly string[]
}

export interface DiscoveredResource {
  readonly verbs: readonly string[]
  readonly subresources: readonly DiscoveredSubresource[]
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
}

const WRITE_VERBS = ['get', 'patch', 'update']
const READ_VERBS = ['get', 'list', 'watch']
const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']

/** What a served version announces. Only one group of a resource has its short names: twice is ambiguous. */
export function announced({ resource, group }: ServedVersion): DiscoveredResource {
  const { shortNames, categories, versions } = resource
  const isFirst = group === versions[0]?.group
  return {
    verbs: verbsOf(resource),
    subresources: subresourcesOf(resource),
    shortNames: isFirst ? shortNames : [],
    categories: isFirst ? categories : [],
  }
}

function verbsOf({ deletedOneByOne, isReadOnly }: Resource): readonly string[] {
  if (isReadOnly) return READ_VERBS
  return deletedOneByOne ? VERBS.filter((verb) => verb !== 'deletecollection') : VERBS
}

function subresourcesOf({
  kind,
  isReadOnly,
  scale,
  status,
  reserved,
  derived = [],
}: Resource): readonly DiscoveredSubresource[] {
  if (isReadOnly) return []
  const { group, version, kind: scaleKind } = SCALE
  const written = [
    ...(status === undefined ? [] : [{ name: 'status', kind, verbs: WRITE_VERBS }]),
    ...(scale === undefined
      ? []
      : [{ name: 'scale', kind: scaleKind, type: { group, version }, verbs: WRITE_VERBS }]),
    ...(reserved === undefined
      ? []
      : [{ name: reserved.subresource, kind, verbs: ['patch', 'update'] }]),
  ]
  const read = derived.map((one) => ({ name: one.name, kind: one.kind, verbs: ['get'] }))
  return [...written, ...read]
}
