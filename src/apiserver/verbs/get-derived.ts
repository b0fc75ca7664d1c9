import { type ApiRequest, jsonReply, type Outcome, subjectOf } from '../api-request.ts'
import { decodeStored } from '../codec.ts'
import { allowsPlainJson, parseAccept } from '../http/media-type.ts'
import { notAcceptable, notFound } from '../refusals.ts'
import { apiVersionOf, type DerivedSubresource } from '../resource.ts'
import type { ServerContext } from '../server-context.ts'
import { Refusal } from '../status.ts'
import { identityOf } from './identity-of.ts'
import { readNewest } from './read-newest.ts'

/** GET of a derived subresource: object and surroundings as the newest revision has them. */
export async function getDerived(
  { kind, derive }: DerivedSubresource,
  context: ServerContext,
  request: ApiRequest,
): Promise<Outcome> {
  const { served, accept } = request
  if (!parseAccept(accept).some(allowsPlainJson)) return notAcceptable(['application/json'])
  const found = await readNewest(context, request)
  if (found === undefined) return notFound(subjectOf(request))
  if (found instanceof Refusal) return found
  const object = decodeStored(found)
  const head = { kind, apiVersion: apiVersionOf(served), metadata: identityOf(object) }
  const answer = { ...head, ...(await derive(context, object)) }
  return jsonReply(200, Buffer.from(`${JSON.stringify(answer)}\n`))
}
