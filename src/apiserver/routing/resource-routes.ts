import type { ServerContext } from '../context/server-context.ts'
import { forwardToNode } from '../node-connect/forward-to-node.ts'
import { podStreamVerbs } from '../pod-streams/pod-stream-verbs.ts'
import type { HandlerResult, StreamRequest } from '../request/api-request.ts'
import { parseFlag } from '../request/list-options.ts'
import type { ScaledResource, ServedVersion } from '../resource/resource.ts'
import { groupVersionPath, resourcePaths } from '../resource/resource-paths.ts'
import { postAnswered } from '../verbs/answers/post-answered.ts'
import { review } from '../verbs/answers/review.ts'
import { create } from '../verbs/create.ts'
import { remove } from '../verbs/delete.ts'
import { removeCollection } from '../verbs/delete-collection.ts'
import { get } from '../verbs/get.ts'
import { getDerived } from '../verbs/get-derived.ts'
import { list } from '../verbs/list.ts'
import { patch } from '../verbs/patch.ts'
import { getScale, patchScale, putScale } from '../verbs/scale.ts'
import { update } from '../verbs/update.ts'
import { watch } from '../watch/watch.ts'

type Verb = (context: ServerContext, request: StreamRequest) => Promise<HandlerResult>

type Verbs = Readonly<Record<string, Verb>>

/** What can be done at a path of a resource. */
export interface ResourceRoute {
  readonly kind: 'resource'
  readonly served: ServedVersion
  readonly subresource: string
  readonly verbs: Verbs
  /** Whether GET is a watch also without `?watch`. */
  readonly isWatch: boolean
  /** Whether requests are forwarded to the machine that the object stands for. */
  readonly isProxied: boolean
}

/** Every path of a served version. */
export function resourceRoutes(served: ServedVersion): ReadonlyMap<string, ResourceRoute> {
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
    answered = [],
    deletedOneByOne,
    derived = [],
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
  if (status !== undefined) paths.set(`${one}/status`, routeOf(served, statusVerbs, 'status'))
  if (scale !== undefined) paths.set(`${one}/scale`, routeOf(served, scaleVerbs(scale), 'scale'))
  if (reserved !== undefined) {
    const { subresource } = reserved
    paths.set(`${one}/${subresource}`, routeOf(served, { PUT: update, PATCH: patch }, subresource))
  }
  for (const each of derived) {
    const verbs = { GET: getDerived.bind(undefined, each) }
    paths.set(`${one}/${each.name}`, routeOf(served, verbs, each.name))
  }
  for (const each of answered) {
    const verbs = { POST: postAnswered.bind(undefined, each) }
    paths.set(`${one}/${each.name}`, routeOf(served, verbs, each.name))
  }
  for (const { name, methods } of streamed) {
    const verbs = Object.fromEntries(methods.map((method) => [method, podStreamVerbs[name]]))
    paths.set(`${one}/${name}`, routeOf(served, verbs, name))
  }
  if (proxied !== undefined) {
    const route = { ...routeOf(served, proxyVerbs, proxied.name), isProxied: true }
    paths.set(`${one}/${proxied.name}`, route).set(`${one}/${proxied.name}/*`, route)
  }
  return paths
}

/** The paths that are watches by themselves: deprecated, but old clients still use them. */
function watchRoutes(served: ServedVersion): Paths {
  const root = `${groupVersionPath(served)}/watch`
  const { everywhere, collection, one } = resourcePaths(served, root, parameter)
  const route = { ...routeOf(served, { GET: watch }), isWatch: true }
  return new Map([everywhere, collection, one].map((path) => [path, route]))
}

function routeOf(served: ServedVersion, verbs: Verbs, subresource = ''): ResourceRoute {
  return { kind: 'resource', served, subresource, verbs, isWatch: false, isProxied: false }
}

/** As the router writes it. */
function parameter(name: string): string {
  return `:${name}`
}

const growingVerbs: Verbs = { GET: listOrWatch, POST: create }
const collectionVerbs: Verbs = { ...growingVerbs, DELETE: removeCollection }
const objectVerbs: Verbs = { GET: get, PUT: update, PATCH: patch, DELETE: remove }
const proxyVerbs: Verbs = { GET: forwardToNode, HEAD: forwardToNode }
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
