import createRouter from 'find-my-way'
import type { Outcome, StreamRequest } from './api-request.ts'
import { discoveryDocuments } from './discovery.ts'
import type { HealthEndpoint } from './health-checks.ts'
import { jsonForm, type ServedDocument } from './http/document.ts'
import { namespaces } from './kinds/namespace.ts'
import { parseFlag } from './list-options.ts'
import { openapiDocuments } from './openapi/openapi-documents.ts'
import { apiVersionOf, type Face, facesOf, type Resource } from './resource.ts'
import type { Serving } from './serving.ts'
import { create } from './verbs/create.ts'
import { remove } from './verbs/delete.ts'
import { removeCollection } from './verbs/delete-collection.ts'
import { get } from './verbs/get.ts'
import { getDerived } from './verbs/get-derived.ts'
import { list } from './verbs/list.ts'
import { patch } from './verbs/patch.ts'
import { update } from './verbs/update.ts'
import { watch } from './watch/watch.ts'

export type Verb = (serving: Serving, request: StreamRequest) => Promise<Outcome>

export type Verbs = Readonly<Record<string, Verb>>

/** What a path stands for. */
export type Route =
  | { readonly kind: 'document'; readonly document: ServedDocument }
  | { readonly kind: 'health'; readonly endpoint: HealthEndpoint }
  | { readonly kind: 'metrics' }
  | {
      readonly kind: 'resource'
      readonly face: Face
      readonly subresource: string
      readonly verbs: Verbs
    }

export interface FoundRoute {
  readonly route: Route
  readonly namespace: string
  readonly name: string
}

/** The longest name that an object can have. */
const LONGEST_PARAMETER = 253

const VERSION = {
  major: '1',
  minor: '30',
  gitVersion: 'v1.30.0+orch',
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: '',
  compiler: '',
  platform: 'linux',
}

/** Maps paths to what they stand for; methods are the route's own affair. */
export function createRoutes(
  resources: readonly Resource[],
): (path: string) => FoundRoute | undefined {
  const router = createRouter({
    caseSensitive: true,
    ignoreTrailingSlash: true,
    maxParamLength: LONGEST_PARAMETER,
  })
  const on = (path: string, route: Route): void => router.on('GET', path, () => undefined, route)
  for (const endpoint of ['healthz', 'livez', 'readyz'] as const) {
    on(`/${endpoint}`, { kind: 'health', endpoint })
    on(`/${endpoint}/:name`, { kind: 'health', endpoint })
  }
  on('/metrics', { kind: 'metrics' })
  for (const [path, document] of documents(resources)) on(path, { kind: 'document', document })
  for (const face of resources.flatMap(facesOf)) addResource(on, face)
  return (path) => {
    const found = router.find('GET', path)
    if (found === null) return undefined
    const { namespace = '', name = '' } = found.params
    return { route: found.store as Route, namespace, name }
  }
}

function documents(resources: readonly Resource[]): ReadonlyMap<string, ServedDocument> {
  return new Map([
    ['/version', [jsonForm(() => VERSION)]] as const,
    ...discoveryDocuments(resources),
    ...openapiDocuments(resources, VERSION.gitVersion),
  ])
}

function addResource(on: (path: string, route: Route) => void, face: Face): void {
  const { resource } = face
  const root = `${face.group === '' ? '/api' : '/apis'}/${apiVersionOf(face)}`
  const base = resource.namespaced
    ? `${root}/namespaces/:namespace/${resource.plural}`
    : `${root}/${resource.plural}`
  const route = (verbs: Verbs, subresource = ''): Route => ({
    kind: 'resource',
    face,
    subresource,
    verbs,
  })
  const { DELETE, ...withoutDelete } = collectionVerbs
  on(base, route(resource === namespaces ? withoutDelete : { ...withoutDelete, DELETE }))
  if (resource.namespaced) on(`${root}/${resource.plural}`, route({ GET: listOrWatch }))
  const one = resource === namespaces ? `${base}/:namespace` : `${base}/:name`
  on(one, route(objectVerbs))
  if (resource.status !== undefined) on(`${one}/status`, route(statusVerbs, 'status'))
  if (resource.reserved !== undefined) {
    const { subresource } = resource.reserved
    on(`${one}/${subresource}`, route({ PUT: update, PATCH: patch }, subresource))
  }
  for (const derived of resource.derived ?? []) {
    on(`${one}/${derived.name}`, route({ GET: getDerived.bind(undefined, derived) }, derived.name))
  }
}

const collectionVerbs = { GET: listOrWatch, POST: create, DELETE: removeCollection }
const objectVerbs: Verbs = { GET: get, PUT: update, PATCH: patch, DELETE: remove }
const statusVerbs: Verbs = { GET: get, PUT: update, PATCH: patch }

function listOrWatch(serving: Serving, request: StreamRequest): Promise<Outcome> {
  return parseFlag(request.query, 'watch') ? watch(serving, request) : list(serving, request)
}
