import type { Resource, ServedVersion } from '../resource/resource.ts'
import { SCALE } from '../verbs/scale.ts'

/** A subresource as discovery describes it: `status`, `scale`, … */
export interface DiscoveredSubresource {
  readonly name: string
  readonly kind: string
  /** Group and version of `kind`; absent: those of the resource. */
  readonly groupVersion?: { readonly group: string; readonly version: string }
  readonly verbs: readonly string[]
}

/** A resource as discovery describes it in one group and version. */
export interface DiscoveredResource {
  readonly verbs: readonly string[]
  readonly subresources: readonly DiscoveredSubresource[]
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
}

const SUBRESOURCE_VERBS = ['get', 'patch', 'update']
const PROXY_VERBS = ['create', 'delete', 'get', 'patch', 'update']
const READ_ONLY_VERBS = ['get', 'list', 'watch']
const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']

/**
 * A served version as discovery describes it. Only the first group of a resource has its short names and categories,
 * because clients report a short name that two groups have as ambiguous.
 */
export function discoveredResource({ resource, group }: ServedVersion): DiscoveredResource {
  const { shortNames = [], categories = [], versions } = resource
  const isFirst = group === versions[0]?.group
  return {
    verbs: verbsOf(resource),
    subresources: subresourcesOf(resource),
    shortNames: isFirst ? shortNames : [],
    categories: isFirst ? categories : [],
  }
}

function verbsOf({ deletedOneByOne, isReadOnly, review }: Resource): readonly string[] {
  if (review !== undefined) return ['create']
  if (isReadOnly) return READ_ONLY_VERBS
  return deletedOneByOne ? VERBS.filter((verb) => verb !== 'deletecollection') : VERBS
}

function subresourcesOf({
  kind,
  isReadOnly,
  scale,
  status,
  reserved,
  derived = [],
  actions = [],
  evicted,
  answered = [],
  streamed = [],
  proxied,
}: Resource): readonly DiscoveredSubresource[] {
  if (isReadOnly) return []
  const { group, version, kind: scaleKind } = SCALE
  const written = [
    ...(status === undefined ? [] : [{ name: 'status', kind, verbs: SUBRESOURCE_VERBS }]),
    ...(scale === undefined
      ? []
      : [
          {
            name: 'scale',
            kind: scaleKind,
            groupVersion: { group, version },
            verbs: SUBRESOURCE_VERBS,
          },
        ]),
    ...(reserved === undefined
      ? []
      : [{ name: reserved.subresource, kind, verbs: ['patch', 'update'] }]),
  ]
  const read = derived.map((one) => ({ name: one.name, kind: one.kind, verbs: ['get'] }))
  const posted = [...answered, ...actions, ...(evicted === undefined ? [] : [evicted])]
  const requested = posted.map(({ name, type: { kind: posted, ...groupVersion } }) => ({
    name,
    kind: posted,
    groupVersion,
    verbs: ['create'],
  }))
  const streams = streamed.map(({ name, kind: options, methods }) => ({
    name,
    kind: options,
    verbs: methods.map((method) => (method === 'GET' ? 'get' : 'create')).toSorted(),
  }))
  const proxies = proxied === undefined ? [] : [{ ...proxied, verbs: PROXY_VERBS }]
  return [...written, ...read, ...requested, ...streams, ...proxies]
}
