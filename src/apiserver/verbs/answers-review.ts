import { objectAt, stringAt, without } from '../../lib/json.ts'
import { readObject } from '../admission/admit.ts'
import type { ServerContext } from '../context/server-context.ts'
import { plainAnswer } from '../negotiation/plain-answer.ts'
import type { ApiRequest, HandlerResult } from '../request/api-request.ts'
import { invalidObject } from '../request/invalid-object.ts'
import { validateObject } from '../resource/object-rules.ts'
import { apiVersionOf, type Review } from '../resource/resource.ts'
import { causeOf } from '../status/causes.ts'
import { StatusError } from '../status/status.ts'
import { wrongNamespace } from './create.ts'
import { parseDryRun } from './dry-run.ts'
import { awaitRevision } from './read-newest.ts'

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
  return plainAnswer(request, { ...type, ...question, ...type, status })
}
