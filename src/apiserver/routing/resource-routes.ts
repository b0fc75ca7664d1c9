import { timestamp } from '../../lib/clock.ts'
import { type JsonObject, stringAt } from '../../lib/json.ts'
import { validate } from '../../resources/decode.ts'
import { readDocument } from '../admission/admit.ts'
import type { Item } from '../cache/item.ts'
import { objectReader } from '../cache/object-reader.ts'
import { unreadableUnder, warnOfUnreadable } from '../cache/unreadable.ts'
import type { ServerContext } from '../context/server-context.ts'
import { decodeStored } from '../encoding/codec.ts'
import { checkFields } from '../field-validation/check-fields.ts'
import type { Shown } from '../negotiation/answer-form.ts'
import { negotiate } from '../negotiation/negotiate.ts'
import { isJson } from '../negotiation/parse-document.ts'
import { plainAnswer } from '../negotiation/plain-answer.ts'
import { forwardToNode } from '../node-connect/forward-to-node.ts'
import { podStreamVerbs } from '../pod-streams/pod-stream-verbs.ts'
import {
  type ApiRequest,
  type HandlerResult,
  type StreamRequest,
  subjectOf,
} from '../request/api-request.ts'
import { parseFlag, parseListOptions } from '../request/list-options.ts'
import {
  type AnsweredSubresource,
  apiVersionOf,
  type ScaledResource,
  type ServedVersion,
  storagePrefix,
} from '../resource/resource.ts'
import { groupVersionPath, resourcePaths } from '../resource/resource-paths.ts'
import { causeOf } from '../status/causes.ts'
import { StatusError } from '../status/status.ts'
import { badRequest, invalid, notFound } from '../status/status-errors.ts'
import { review } from '../verbs/answers-review.ts'
import { create, wrongNamespace } from '../verbs/create.ts'
import { deleteObject, remove } from '../verbs/delete.ts'
import { type DeleteOptions, readDeleteOptions } from '../verbs/delete-options.ts'
import { discard } from '../verbs/discard-unreadable.ts'
import { parseDryRun } from '../verbs/dry-run.ts'
import { get, getDerived } from '../verbs/get.ts'
import { list } from '../verbs/list.ts'
import { patch } from '../verbs/patch.ts'
import { awaitRevision, readNewest } from '../verbs/read-newest.ts'
import { getScale, patchScale, putScale } from '../verbs/scale.ts'
import { update } from '../verbs/update.ts'
import { watch } from '../watch/watch.ts'

type Verb = (context: ServerContext, request: StreamRequest) => Promise<HandlerResult>

type Verbs = Readonly<Record<string, Verb>>

/** The verbs at a path of a resource. */
export interface ResourceRoute {
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

/**
 * DELETE of a collection: deletes every object that the selectors match, one by one. Without selectors,
 * unreadable objects are also deleted.
 */
async function removeCollection(
  context: ServerContext,
  request: ApiRequest,
): Promise<HandlerResult> {
  const options = parseListOptions(request.served, request.query)
  if (options instanceof StatusError) return options
  const deleteOptions = readDeleteOptions(context, request)
  if (deleteOptions instanceof StatusError) return deleteOptions
  const representation = negotiate(context, request, 'list')
  if (representation instanceof StatusError) return representation
  const late = await awaitRevision(context, await context.store.revision())
  if (late !== undefined) return late
  const { resource } = request.served
  const all = context.feed.cache(resource).under(storagePrefix(resource, request.namespace))
  const deleted = await deleteEach(
    context,
    request,
    all.filter((item) => options.selection.matches(item)),
    deleteOptions,
  )
  if (deleted instanceof StatusError) return deleted
  const unreadable = unreadableUnder(context, resource, request.namespace)
  if (options.selection.everything && !deleteOptions.dryRun) {
    for (const one of unreadable) await discard(context, resource, one)
  } else warnOfUnreadable(request, unreadable)
  const revision = await context.store.revision()
  const { contentType } = representation
  return { code: 200, contentType, body: representation.list(deleted, { revision }) }
}

async function deleteEach(
  context: ServerContext,
  request: ApiRequest,
  items: readonly Item[],
  options: DeleteOptions,
): Promise<readonly Shown[] | StatusError> {
  const deleted: Shown[] = []
  for (const { namespace, fields } of items) {
    const one = { ...request, namespace, name: fields['metadata.name']! }
    const outcome = await deleteObject(context, one, options)
    if (outcome instanceof StatusError) return outcome
    if (outcome === undefined) continue
    deleted.push({ value: outcome.value, revision: outcome.modRevision })
  }
  return deleted
}

/** POST to a subresource whose document is answered and not stored. */
async function postAnswered(
  subresource: AnsweredSubresource,
  context: ServerContext,
  request: ApiRequest,
): Promise<HandlerResult> {
  const dryRun = parseDryRun(request)
  if (dryRun instanceof StatusError) return dryRun
  const document = readPosted(subresource, context, request)
  if (document instanceof StatusError) return document
  const found = await readNewest(context, request)
  if (found === undefined) return notFound(subjectOf(request))
  if (found instanceof StatusError) return found
  const { issuance, clock } = context
  const objects = objectReader(context)
  const given = { user: request.user, objects, issuance }
  const answer = await subresource.answer(given, decodeStored(found), document)
  if (answer instanceof StatusError) return answer
  const { kind } = subresource.type
  const { name, namespace } = request
  const metadata = { name, namespace, creationTimestamp: timestamp(clock.now()) }
  const head = { kind, apiVersion: apiVersionOf(subresource.type), metadata }
  return plainAnswer(request, { ...head, ...answer })
}

/** The document of a request, if it is about the object of its path and valid. */
function readPosted(
  { type, validate: rules }: AnsweredSubresource,
  context: ServerContext,
  request: ApiRequest,
): JsonObject | StatusError {
  const expected = { apiVersion: apiVersionOf(type), kind: type.kind }
  const document = readDocument(context, request, expected)
  if (document instanceof StatusError) return document
  const { contentType, body } = request
  const mistyped = checkFields(request, {
    object: document,
    type,
    ...(isJson(contentType) && { body }),
  })
  if (mistyped !== undefined) return mistyped
  if (!['', request.namespace].includes(stringAt(document, 'metadata', 'namespace'))) {
    return wrongNamespace()
  }
  if (!['', request.name].includes(stringAt(document, 'metadata', 'name'))) {
    return badRequest('the name in metadata is not the one of the request')
  }
  const problems = validate(document, rules)
  if (problems.length === 0) return document
  const subject = { plural: '', group: type.group, name: request.name }
  return invalid(type.kind, subject, problems.map(causeOf))
}
