import { apiVersionOf, type ServedVersion } from './resource.ts'

/** Where the resources of one group and version are: `/api/v1`, `/apis/apps/v1`. */
export function groupVersionPath(of: { readonly group: string; readonly version: string }): string {
  return `${of.group === '' ? '/api' : '/apis'}/${apiVersionOf(of)}`
}

/** Paths of a resource, with parameters as their reader writes them. */
export interface ResourcePaths {
  /** All objects. */
  readonly everywhere: string
  /** Those of one namespace, where there are namespaces. */
  readonly collection: string
  readonly one: string
}

/** The paths below `root` that a served version has; `parameter` writes `namespace` and `name`. */
export function resourcePaths(
  { resource }: ServedVersion,
  root: string,
  parameter: (name: string) => string,
): ResourcePaths {
  const { namespaced, plural } = resource
  const everywhere = `${root}/${plural}`
  const inside = `${root}/namespaces/${parameter('namespace')}/${plural}`
  const collection = namespaced ? inside : everywhere
  return { everywhere, collection, one: `${collection}/${parameter('name')}` }
}
