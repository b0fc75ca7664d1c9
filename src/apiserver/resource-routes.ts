import type { Outcome, StreamRequest } from './api-request.ts'
import { parseFlag } from './list-options.ts'
import type { Face, ScaledResource } from './resource.ts'
import { groupVersionPath, resourcePaths } from './resource-paths.ts'
import type { Serving } from './serving.ts'
import { create } from './verbs/create.ts'
import { remove } from './verbs/delete.ts'
import { removeCollection } from './verbs/delete-collection.ts'
import { get } from './verbs/get.ts'
import { getDerived } from './verbs/get-derived.ts'
import { list } from './verbs/list.ts'
import { patch } from './verbs/patch.ts'
import { getScale, patchScale, putScale } from './verbs/scale.ts'
import { update } from './verbs/update.ts'
import { watch } from './watch/watch.ts'

type Verb = (serving: Serving, request: StreamRequest) => Promise<Outcome>

type Verbs = Readonly<Record<string, Verb>>

/** What can be done at a path of a resource. */
export interface ResourceRoute {
  readonly kind: 'resource'
  readonly face: Face
  readonly subresource: string
  readonly verbs: Verbs
  /** Whether GET is a watch without being asked to. */
  readonly isWatch: boolean
}

/** Every path of a face. */
export function resourceRoutes(face: Face): ReadonlyMap<string, ResourceRoute> {
  return new Map([...objectRoutes(face), ...watchRoutes(face)])
}

type Paths = ReadonlyMap<string, ResourceRoute>

function objectRoutes(face: Face): Paths {
  const { resource } = face
  const { deletedOneByOne, derived = [], isReadOnly, reserved, scale, status } = resource
  const { everywhere, collection, one } = resourcePaths(face, groupVersionPath(face), parameter)
  const whole = deletedOneByOne ? growingVerbs : collectionVerbs
  const paths = new Map([[everywhere, routeOf(face, { GET: listOrWatch })]])
  if (isReadOnly) return paths.set(one, routeOf(face, { GET: get }))
  paths.set(collection, routeOf(face, whole)).set(one, routeOf(face, objectVerbs))
  if (status !== undefined) paths.set(`${one}/status`, routeOf(face, statusVerbs, 'status'))
  if (scale !== undefined) paths.set(`${one}/scale`, routeOf(face, scaleVerbs(scale), 'scale'))
  if (reserved !== undefined) {
    const { subresource } = reserved
    paths.set(`${one}/${subresource}`, routeOf(face, { PUT: update, PATCH: patch }, subresource))
  }
  for (const each of derived) {
    const verbs = { GET: getDerived.bind(undefined, each) }
    paths.set(`${one}/${each.name}`, routeOf(face, verbs, each.name))
  }
  return paths
}

/** The paths that are watches by themselves: deprecated, and still asked by old clients. */
function watchRoutes(face: Face): Paths {
  const root = `${groupVersionPath(face)}/watch`
  const { everywhere, collection, one } = resourcePaths(face, root, parameter)
  const route = { ...routeOf(face, { GET: watch }), isWatch: true }
  return new Map([everywhere, collection, one].map((path) => [path, route]))
}

function routeOf(face: Face, verbs: Verbs, subresource = ''): ResourceRoute {
  return { kind: 'resource', face, subresource, verbs, isWatch: false }
}

/** As the router writes it. */
function parameter(name: string): string {
  return `:${name}`
}

const growingVerbs: Verbs = { GET: listOrWatch, POST: create }
const collectionVerbs: Verbs = { ...growingVerbs, DELETE: removeCollection }
const objectVerbs: Verbs = { GET: get, PUT: update, PATCH: patch, DELETE: remove }
const statusVerbs: Verbs = { GET: get, PUT: update, PATCH: patch }

function scaleVerbs(scaled: ScaledResource): Verbs {
  return {
    GET: getScale.bind(undefined, scaled),
    PUT: putScale.bind(undefined, scaled),
    PATCH: patchScale.bind(undefined, scaled),
  }
}

function listOrWatch(serving: Serving, request: StreamRequest): Promise<Outcome> {
  return parseFlag(request.query, 'watch') ? watch(serving, request) : list(serving, request)
}
