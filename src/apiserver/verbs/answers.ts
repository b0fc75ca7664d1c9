import { timestamp } from '../../lib/duration.ts'
import { type JsonObject, objectAt, stringAt, without } from '../../lib/json.ts'
import { validate } from '../../resources/decode.ts'
import { readObject } from '../admission/admit.ts'
import { objectReader } from '../cache/feed.ts'
import type { ServerContext } from '../context/server-context.ts'
import { decodeStored } from '../encoding/codec.ts'
import { plainAnswer } from '../negotiation/negotiate.ts'
import {
  type ApiRequest,
  type HandlerResult,
  invalidObject,
  jsonReply,
  subjectOf,
} from '../request/api-request.ts'
import { validateObject } from '../resource/object-rules.ts'
import {
  type ActionSubresource,
  type AnsweredSubresource,
  apiVersionOf,
  type PostedSubresource,
  type Review,
} from '../resource/resource.ts'
import {
  badRequest,
  causeOf,
  invalid,
  notFound,
  StatusError,
  successDocument,
} from '../status/status.ts'
import { wrongNamespace } from './create.ts'
import { awaitRevision, readNewest } from './read-newest.ts'
import { updateObject } from './update.ts'
import { parseDryRun } from './write-options.ts'

/** POST of a review. The answer takes into account every write that was answered before; the review is not stored. */
export async function review(
  answer: Review,
  context: ServerContext,
  request: ApiRequest,
): Promise<HandlerResult> {
  const dryRun = parseDryRun(request)
  if (dryRun instanceof StatusError) return dryRun
  const sent = readObject(context, request)
  if (sent instanceof StatusError) return sent
  const { namespace, served, user } = request
  if (!['', namespace].includes(stringAt(sent, 'metadata', 'namespace'))) return wrongNamespace()
  const metadata = {
    ...without(objectAt(sent, 'metadata'), 'managedFields'),
    ...(namespace !== '' && { namespace }),
  }
  const question = { ...sent, metadata }
  const problems = validateObject(served.resource, question)
  if (problems.length > 0) return invalidObject(request, question, problems.map(causeOf))
  const late = await awaitRevision(context, await context.store.revision())
  if (late !== undefined) return late
  const { authorizer, tokens } = context
  const status = await answer({ user, authorizer, tokens }, question)
  if (status instanceof StatusError) return status
  const type = { kind: served.resource.kind, apiVersion: apiVersionOf(served) }
  // The type comes first in the document, and is that of the path, whatever the question says.
  return plainAnswer(request, { ...type, ...question, ...type, status })
}

/** POST to a subresource whose document is answered and not stored. */
export async function postAnswered(
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

/** POST to a subresource whose document changes the object. */
export async function postAction(
  action: ActionSubresource,
  context: ServerContext,
  request: ApiRequest,
): Promise<HandlerResult> {
  const dryRun = parseDryRun(request)
  if (dryRun instanceof StatusError) return dryRun
  const document = readPosted(action, context, request)
  if (document instanceof StatusError) return document
  const written = await updateObject(
    context,
    request,
    (object) => action.apply(object, document, context.clock.now()),
    { dryRun, isConditional: false },
  )
  if (written instanceof StatusError) return written
  if (written === undefined) return notFound(subjectOf(request))
  return jsonReply(201, Buffer.from(JSON.stringify(successDocument({}))))
}

/** The document of a request, if it is about the object of its path and valid. */
export function readPosted(
  { type, validate: rules }: PostedSubresource,
  context: ServerContext,
  request: ApiRequest,
): JsonObject | StatusError {
  const document = readObject(context, request, type)
  if (document instanceof StatusError) return document
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
