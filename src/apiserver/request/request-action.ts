import type { Action, ResourceAction } from '../../auth/action.ts'
import { canonicalGroup } from '../../resources/api-groups.ts'
import type { ServedVersion } from '../resource/resource.ts'
import { requiredValue } from './field-selector.ts'
import { parseFlag } from './list-options.ts'

/** A request for a resource, as parsed from its path; the names are decoded. */
export interface RequestedResource {
  readonly method: string
  readonly served: ServedVersion
  /** Empty: the object itself. */
  readonly subresource: string
  /** Empty: all namespaces, or a cluster-scoped resource. */
  readonly namespace: string
  /** Empty: the collection. */
  readonly name: string
  /** Whether GET is a watch even without `?watch`. */
  readonly isWatch: boolean
  readonly query: URLSearchParams
}

/** The action of a request for a resource, with the canonical name of its group. */
export function resourceAction(requested: RequestedResource): ResourceAction {
  const { served, subresource } = requested
  const verb = verbOf(requested)
  return {
    verb,
    namespace: namespaceOf(requested),
    subresource,
    name: nameOf(requested, verb),
    group: canonicalGroup(served.group),
    resource: served.resource.plural,
  }
}

/**
 * The namespace of the action. For a Namespace object it is its own name, so that a Role in a namespace can also permit
 * actions on the Namespace object.
 */
function namespaceOf({ served, namespace, name }: RequestedResource): string {
  return served.resource.container === undefined ? namespace : name
}

/** The action of a request for any other path. `path`: decoded. */
export function pathAction(method: string, path: string): Action {
  return { verb: method.toLowerCase(), path }
}

const VERBS: Readonly<Record<string, string>> = {
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
}

function verbOf({ method, name, isWatch, query }: RequestedResource): string {
  if (method === 'GET' && isWatch) return 'watch'
  if (method === 'GET' && name !== '') return 'get'
  if (method === 'GET') return parseFlag(query, 'watch') ? 'watch' : 'list'
  if (method === 'DELETE' && name === '') return 'deletecollection'
  return VERBS[method] ?? method.toLowerCase()
}

/** A list or watch that selects one object by its name is about that object. */
function nameOf({ name, query }: RequestedResource, verb: string): string {
  if (name !== '' || (verb !== 'list' && verb !== 'watch')) return name
  return requiredValue(query.get('fieldSelector') ?? '', 'metadata.name') ?? ''
}
