/** A subresource: `status`, `scale`, `token`, … */
export interface Subresource {
  readonly name: string
  readonly kind: string
  readonly verbs: readonly string[]
}

/** A resource in one served group and version. */
export interface ApiResource {
  /** Empty: the core group. */
  readonly group: string
  readonly version: string
  readonly kind: string
  /** The name in paths. */
  readonly plural: string
  readonly singular: string
  readonly shortNames: readonly string[]
  readonly namespaced: boolean
  readonly verbs: readonly string[]
  readonly categories: readonly string[]
  readonly subresources: readonly Subresource[]
}

/** `apps/v1`; of the core group `v1`. */
export function groupVersion({ group, version }: Pick<ApiResource, 'group' | 'version'>): string {
  return group === '' ? version : `${group}/${version}`
}

/** `deployments.apps`; of the core group `services`. */
export function qualifiedName({ plural, group }: Pick<ApiResource, 'plural' | 'group'>): string {
  return group === '' ? plural : `${plural}.${group}`
}

/** `deployment.apps`, by which messages name objects; of the core group `service`. */
export function qualifiedKind({ kind, group }: Pick<ApiResource, 'kind' | 'group'>): string {
  return group === '' ? kind.toLowerCase() : `${kind.toLowerCase()}.${group}`
}

/** The path of the collection. `namespace` undefined: of all namespaces, or of the cluster. */
export function collectionPath(resource: ApiResource, namespace: string | undefined): string {
  const { group, version, plural, namespaced } = resource
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
  const inside =
    namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : ''
  return `${root}${inside}/${plural}`
}

/** The path of an object. */
export function objectPath(
  resource: ApiResource,
  namespace: string | undefined,
  name: string,
): string {
  return `${collectionPath(resource, namespace)}/${encodeURIComponent(name)}`
}
