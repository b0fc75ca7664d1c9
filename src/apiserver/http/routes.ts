import createRouter from 'find-my-way'
import type { JsonObject } from '../../lib/json.ts'
import { OPENID_PATHS, type OpenidDocument } from '../authentication/openid-documents.ts'
import { forwardToNode } from '../connect/forward-to-node.ts'
import { podStreamVerbs } from '../connect/pod-stream-verbs.ts'
import type { ServerContext } from '../context/server-context.ts'
import { discoveryDocuments } from '../discovery/discovery-documents.ts'
import { GIT_VERSION } from '../discovery/version.ts'
import type { HealthEndpoint } from '../health/health-checks.ts'
import { jsonForm, type ServedDocument } from '../negotiation/served-document.ts'
import { openapiDocuments } from '../openapi/openapi-documents.ts'
import {
  type ForwardedTarget,
  type HandlerResult,
  type StreamRequest,
  splitTarget,
} from '../request/api-request.ts'
import { parseFlag } from '../request/list-options.ts'
import {
  type Resource,
  type ScaledResource,
  type ServedVersion,
  servedVersionsOf,
} from '../resource/resource.ts'
import { groupVersionPath, resourcePaths } from '../resource/resource-paths.ts'
import { postAction, postAnswered, review } from '../verbs/answers.ts'
import { create } from '../verbs/create.ts'
import { remove, removeCollection } from '../verbs/delete.ts'
import { evict } from '../verbs/evict.ts'
import { get, getDerived } from '../verbs/get.ts'
import { list } from '../verbs/list.ts'
import { patch } from '../verbs/patch.ts'
import { getScale, patchScale, putScale } from '../verbs/scale.ts'
import { update } from '../verbs/update.ts'
import { watch } from '../watch/watch.ts'

const GROUP_VERSION = 'apiextensions.k8s.io/v1'

/**
 * The path of the list of CustomResourceDefinitions. kubectl reads it before it reports that the kind of a manifest is
 * unknown. This server has no custom resources, so its discovery documents do not contain the path.
 */
const CUSTOM_RESOURCES_PATH = `/apis/${GROUP_VERSION}/customresourcedefinitions`

/** The handler of a path. */
export type Route =
  | { readonly kind: 'document'; readonly document: ServedDocument }
  | { readonly kind: 'health'; readonly endpoint: HealthEndpoint }
  | { readonly kind: 'metrics' }
  | { readonly kind: 'openid'; readonly document: OpenidDocument }
  | { readonly kind: 'version' }
  | ResourceRoute

export interface FoundRoute {
  readonly route: Route
  readonly namespace: string
  readonly name: string
  /** The target that the request is forwarded to; undefined: it is answered here. */
  readonly forwarded: ForwardedTarget | undefined
}

/** The longest name that an object can have, with a scheme and a port where requests are forwarded: `https:NAME:10246`. */
const MAX_PARAMETER_LENGTH = 253 + 'https::65535'.length

const HEALTH = ['healthz', 'livez', 'readyz'] as const
const PLAIN = ['/metrics', '/version'] as const

/** Maps paths to routes. Methods are checked by the route. */
export function createRoutes(
  resources: readonly Resource[],
): (path: string) => FoundRoute | undefined {
  const router = createRouter({
    caseSensitive: true,
    ignoreTrailingSlash: true,
    maxParamLength: MAX_PARAMETER_LENGTH,
  })
  const on = (path: string, route: Route): void => router.on('GET', path, () => undefined, route)
  for (const endpoint of HEALTH) {
    on(`/${endpoint}`, { kind: 'health', endpoint })
    on(`/${endpoint}/:name`, { kind: 'health', endpoint })
  }
  on('/metrics', { kind: 'metrics' })
  on('/version', { kind: 'version' })
  for (const [path, document] of Object.entries(OPENID_PATHS))
    on(path, { kind: 'openid', document })
  const described = documents(resources)
  for (const [path, document] of described) on(path, { kind: 'document', document })
  const paths = [
    ...HEALTH.map((endpoint) => `/${endpoint}`),
    ...PLAIN,
    ...Object.keys(OPENID_PATHS),
    ...described.keys(),
  ]
  on('/', { kind: 'document', document: pathsDocument(paths) })
  on(CUSTOM_RESOURCES_PATH, { kind: 'document', document: noCustomResources() })
  for (const served of resources.flatMap(servedVersionsOf)) {
    for (const [path, route] of resourceRoutes(served)) on(path, route)
  }
  return (path) => {
    const found = router.find('GET', path)
    if (found === null) return undefined
    const { namespace = '', name = '', '*': below = '' } = found.params
    const route = found.store as Route
    if (route.kind !== 'resource' || !route.isProxied) {
      return { route, namespace, name, forwarded: undefined }
    }
    const { name: plain, ...target } = splitTarget(name)
    return { route, namespace, name: plain, forwarded: { ...target, path: below } }
  }
}

/** The document of `/`: all paths that are not of resources, from which people find the rest. */
function pathsDocument(paths: readonly string[]): ServedDocument {
  return [jsonForm(() => ({ paths: paths.toSorted() }))]
}

function documents(resources: readonly Resource[]): ReadonlyMap<string, ServedDocument> {
  return new Map([...discoveryDocuments(resources), ...openapiDocuments(resources, GIT_VERSION)])
}

/** The answer at `CUSTOM_RESOURCES_PATH`: an empty list. */
function noCustomResources(): ServedDocument {
  const list: JsonObject = {
    kind: 'CustomResourceDefinitionList',
    apiVersion: GROUP_VERSION,
    metadata: { resourceVersion: '' },
    items: [],
  }
  return [jsonForm(() => list)]
}

type Verb = (context: ServerContext, request: StreamRequest) => Promise<HandlerResult>

type Verbs = Readonly<Record<string, Verb>>

/** The verbs at a path of a resource. */
interface ResourceRoute {
  readonly kind: 'resource'
  readonly served: ServedVersion
  readonly subresource: string
  readonly verbs: Verbs
  /** Whether GET is a watch even without `?watch`. */
  readonly isWatch: boolean
  /** Whether requests are forwarded to the machine that the object stands for. */
  readonly isProxied: boolean
}

/** Every path of a served version. */
function resourceRoutes(served: ServedVersion): ReadonlyMap<string, ResourceRoute> {
  const answer = served.resource.review
  if (answer !== undefined) {
    return new Map([
      [collection(served), routeOf(served, { POST: review.bind(undefined, answer) })],
    ])
  }
  return new Map([...objectRoutes(served), ...watchRoutes(served)])
}

function collection(served: ServedVersion): string {
  return resourcePaths(served, groupVersionPath(served), parameter).collection
}

type Paths = ReadonlyMap<string, ResourceRoute>

function objectRoutes(served: ServedVersion): Paths {
  const { resource } = served
  const {
    actions = [],
    answered = [],
    deletedOneByOne,
    derived = [],
    evicted,
    isReadOnly,
    proxied,
    reserved,
    scale,
    status,
    streamed = [],
  } = resource
  const { everywhere, collection, one } = resourcePaths(served, groupVersionPath(served), parameter)
  const whole = deletedOneByOne ? growingVerbs : collectionVerbs
  const paths = new Map([[everywhere, routeOf(served, { GET: listOrWatch })]])
  if (isReadOnly) return paths.set(one, routeOf(served, { GET: get }))
  paths.set(collection, routeOf(served, whole)).set(one, routeOf(served, objectVerbs))
  const below = (name: string, verbs: Verbs) =>
    paths.set(`${one}/${name}`, routeOf(served, verbs, name))
  if (status !== undefined) below('status', statusVerbs)
  if (scale !== undefined) below('scale', scaleVerbs(scale))
  if (reserved !== undefined) below(reserved.subresource, { PUT: update, PATCH: patch })
  for (const each of derived) below(each.name, { GET: getDerived.bind(undefined, each) })
  for (const each of answered) below(each.name, { POST: postAnswered.bind(undefined, each) })
  for (const each of actions) below(each.name, { POST: postAction.bind(undefined, each) })
  if (evicted !== undefined) below(evicted.name, { POST: evict.bind(undefined, evicted) })
  for (const { name, methods } of streamed) {
    below(name, Object.fromEntries(methods.map((method) => [method, podStreamVerbs[name]])))
  }
  if (proxied !== undefined) {
    const route = { ...routeOf(served, proxyVerbs, proxied.name), isProxied: true }
    paths.set(`${one}/${proxied.name}`, route).set(`${one}/${proxied.name}/*`, route)
  }
  return paths
}

/**
 * The paths below `watch/`, which are watches without `?watch`. They are deprecated, but old clients still use
 * them.
 */
function watchRoutes(served: ServedVersion): Paths {
  const root = `${groupVersionPath(served)}/watch`
  const { everywhere, collection, one } = resourcePaths(served, root, parameter)
  const route = { ...routeOf(served, { GET: watch }), isWatch: true }
  return new Map([everywhere, collection, one].map((path) => [path, route]))
}

function routeOf(served: ServedVersion, verbs: Verbs, subresource = ''): ResourceRoute {
  return { kind: 'resource', served, subresource, verbs, isWatch: false, isProxied: false }
}

/** A path parameter in the router's syntax. */
function parameter(name: string): string {
  return `:${name}`
}

const growingVerbs: Verbs = { GET: listOrWatch, POST: create }
const collectionVerbs: Verbs = { ...growingVerbs, DELETE: removeCollection }
const objectVerbs: Verbs = { GET: get, PUT: update, PATCH: patch, DELETE: remove }
const proxyVerbs: Verbs = Object.fromEntries(
  ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'].map((method) => [method, forwardToNode]),
)
const statusVerbs: Verbs = { GET: get, PUT: update, PATCH: patch }

function scaleVerbs(scaled: ScaledResource): Verbs {
  return {
    GET: getScale.bind(undefined, scaled),
    PUT: putScale.bind(undefined, scaled),
    PATCH: patchScale.bind(undefined, scaled),
  }
}

function listOrWatch(context: ServerContext, request: StreamRequest): Promise<HandlerResult> {
  return parseFlag(request.query, 'watch') ? watch(context, request) : list(context, request)
}
