import { SERVER_USER } from '../../auth/user.ts'
import { type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import { objectReader } from '../cache/feed.ts'
import type { ServerContext } from '../context/server-context.ts'
import { decodeStored } from '../encoding/codec.ts'
import {
  type ApiRequest,
  type HandlerResult,
  jsonReply,
  subjectOf,
} from '../request/api-request.ts'
import { type EvictionRules, type Resource, servedVersionsOf } from '../resource/resource.ts'
import { notFound, StatusError, successDocument } from '../status/status.ts'
import { readPosted } from './answers.ts'
import { deleteObject } from './delete.ts'
import { checkPreconditions, type DeleteOptions, parseDeleteOptions } from './delete-options.ts'
import { readNewest } from './read-newest.ts'
import { updateObject } from './update.ts'
import { parseDryRun } from './write-options.ts'

/** POST of an eviction: spends a budget on the object, then deletes it. */
export async function evict(
  rules: EvictionRules,
  context: ServerContext,
  request: ApiRequest,
): Promise<HandlerResult> {
  const dryRun = parseDryRun(request)
  if (dryRun instanceof StatusError) return dryRun
  const document = readPosted(versionOf(rules, request), context, request)
  if (document instanceof StatusError) return document
  const options = parseDeleteOptions(objectAt(document, 'deleteOptions'), request)
  if (options instanceof StatusError) return options
  const found = await readNewest(context, request)
  if (found === undefined) return notFound(subjectOf(request))
  if (found instanceof StatusError) return found
  const object = decodeStored(found)
  const whole = { ...options, dryRun: options.dryRun || dryRun }
  const unmet = checkPreconditions(request, whole, object)
  if (unmet !== undefined) return unmet
  const announced = await spend(context, request, { rules, object, options: whole })
  if (announced instanceof StatusError) return announced
  const uid = options.uid || stringAt(object, 'metadata', 'uid')
  const target = { ...request, method: 'DELETE', subresource: '' }
  const resourceVersion = options.resourceVersion && announced
  const deleted = await deleteObject(context, target, { ...whole, uid, resourceVersion })
  if (deleted instanceof StatusError) return deleted
  if (deleted === undefined) return notFound(subjectOf(request))
  return jsonReply(201, Buffer.from(JSON.stringify(successDocument({}))))
}

interface Eviction {
  readonly rules: EvictionRules
  readonly object: JsonObject
  readonly options: DeleteOptions
}

/**
 * Spends the budget and announces the deletion, or returns why there is none. Returns the version of the object that this
 * makes, which is the one to delete if the client named one.
 */
async function spend(
  context: ServerContext,
  request: ApiRequest,
  { rules, object, options: deletion }: Eviction,
): Promise<string | StatusError> {
  const { dryRun } = deletion
  const budgets = objectReader(context).list(rules.budgets, request.namespace)
  const decision = rules.decide(object, budgets)
  if (decision instanceof StatusError) return decision
  const options = { dryRun, isConditional: false }
  const now = (): number => context.clock.now()
  if (decision !== 'permitted') {
    const budget = ownRequest(request, rules.budgets, decision.budget)
    const spent = await updateObject(context, budget, (old) => decision.spend(old, now()), options)
    if (spent instanceof StatusError) return spent
  }
  const own = ownRequest(request, request.served.resource, request.name)
  const announce = (old: JsonObject): JsonObject | StatusError =>
    checkPreconditions(request, deletion, old) ?? rules.announced(old, now())
  const announced = await updateObject(context, own, announce, options)
  if (announced === undefined) return notFound(subjectOf(request))
  if (announced instanceof StatusError) return announced
  return stringAt(decodeStored(announced), 'metadata', 'resourceVersion')
}

/** A request of the server itself for the status of an object. */
function ownRequest(request: ApiRequest, resource: Resource, name: string): ApiRequest {
  const [served] = servedVersionsOf(resource)
  const userAgent = 'orch-server/system'
  const own = { method: 'PUT', user: SERVER_USER, subresource: 'status', userAgent }
  return { ...request, ...own, served: served!, name }
}

/** The rules for the version of the document that was sent. */
function versionOf(rules: EvictionRules, { body }: ApiRequest): EvictionRules {
  const { type, olderVersions } = rules
  const older = olderVersions.find((version) => body.includes(`${type.group}/${version}`))
  return older === undefined ? rules : { ...rules, type: { ...type, version: older } }
}
