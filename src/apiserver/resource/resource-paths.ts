import { apiVersionOf, type ServedVersion } from './resource.ts'

/** The path of the resources of one group and version: `/api/v1`, `/apis/apps/v1`. */
export function groupVersionPath(of: { readonly group: string; readonly version: string }): string {
  return `${of.group === '' ? '/api' : '/apis'}/${apiVersionOf(of)}`
}

/** The paths of a resource; the caller chooses how parameters are written. */
export interface ResourcePaths {
  /** The path of all objects. */
  readonly everywhere: string
  /** The path of the objects of one namespace, if the resource is namespaced. */
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
