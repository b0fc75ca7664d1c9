import type { ServerContext } from '../context/server-context.ts'
import { objectReply } from '../negotiation/negotiate.ts'
import { type ApiRequest, type HandlerResult, subjectOf } from '../request/api-request.ts'
import { parseRevision } from '../request/list-options.ts'
import { StatusError } from '../status/status.ts'
import { notFound } from '../status/status-errors.ts'
import { awaitRevision } from './await-revision.ts'
import { readNewest } from './read-newest.ts'

/** GET of one object: always the newest, which any resourceVersion allows. */
export async function get(context: ServerContext, request: ApiRequest): Promise<HandlerResult> {
  const revision = parseRevision(request.query)
  if (revision instanceof StatusError) return revision
  const late = await awaitRevision(context, revision ?? 0)
  if (late !== undefined) return late
  const found = await readNewest(context, request)
  if (found === undefined) return notFound(subjectOf(request))
  return found instanceof StatusError ? found : objectReply(context, request, 200, found)
}
