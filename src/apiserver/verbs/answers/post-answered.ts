import { type JsonObject, stringAt } from '../../../lib/json.ts'
import { timestamp } from '../../../lib/timestamp.ts'
import { validate } from '../../../resources/decode.ts'
import { readDocument } from '../../admission/admit.ts'
import { objectReader } from '../../cache/object-reader.ts'
import type { ServerContext } from '../../context/server-context.ts'
import { decodeStored } from '../../encoding/codec.ts'
import { checkFields } from '../../field-validation/check-fields.ts'
import { isJson } from '../../negotiation/parse-document.ts'
import { plainAnswer } from '../../negotiation/plain-answer.ts'
import { type ApiRequest, type HandlerResult, subjectOf } from '../../request/api-request.ts'
import { type AnsweredSubresource, apiVersionOf } from '../../resource/resource.ts'
import { causeOf } from '../../status/causes.ts'
import { StatusError } from '../../status/status.ts'
import { badRequest, invalid, notFound } from '../../status/status-errors.ts'
import { wrongNamespace } from '../create.ts'
import { parseDryRun } from '../dry-run.ts'
import { readNewest } from '../read-newest.ts'

/** POST to a subresource of an object, which is answered and stored nowhere. */
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
    ...{ object: document, type },
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
