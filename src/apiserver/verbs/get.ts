import { type JsonObject, objectAt } from '../../lib/json.ts'
import { objectReader } from '../cache/feed.ts'
import type { ServerContext } from '../context/server-context.ts'
import { decodeStored } from '../encoding/codec.ts'
import { allowsPlainJson, parseAccept } from '../encoding/media-type.ts'
import { objectReply } from '../negotiation/negotiate.ts'
import {
  type ApiRequest,
  type HandlerResult,
  jsonReply,
  subjectOf,
} from '../request/api-request.ts'
import { parseRevision } from '../request/list-options.ts'
import { apiVersionOf, type DerivedSubresource } from '../resource/resource.ts'
import { notAcceptable, notFound, StatusError } from '../status/status.ts'
import { awaitRevision, readNewest } from './read-newest.ts'

/** GET of one object: always the newest state, which satisfies any resourceVersion. */
export async function get(context: ServerContext, request: ApiRequest): Promise<HandlerResult> {
  const revision = parseRevision(request.query)
  if (revision instanceof StatusError) return revision
  const late = await awaitRevision(context, revision ?? 0)
  if (late !== undefined) return late
  const found = await readNewest(context, request)
  if (found === undefined) return notFound(subjectOf(request))
  return found instanceof StatusError ? found : objectReply(context, request, 200, found)
}

/** GET of a derived subresource, computed at the newest revision. */
export async function getDerived(
  { kind, derive }: DerivedSubresource,
  context: ServerContext,
  request: ApiRequest,
): Promise<HandlerResult> {
  const { served, accept } = request
  if (!parseAccept(accept).some(allowsPlainJson)) return notAcceptable(['application/json'])
  const found = await readNewest(context, request)
  if (found === undefined) return notFound(subjectOf(request))
  if (found instanceof StatusError) return found
  const object = decodeStored(found)
  const head = { kind, apiVersion: apiVersionOf(served), metadata: identityOf(object) }
  const answer = { ...head, ...(await derive(objectReader(context), object)) }
  return jsonReply(200, Buffer.from(`${JSON.stringify(answer)}\n`))
}

const IDENTITY = ['name', 'namespace', 'uid', 'resourceVersion', 'creationTimestamp']

/** The metadata that identifies an object, for the answers of its subresources. */
export function identityOf(object: JsonObject): JsonObject {
  const metadata = Object.entries(objectAt(object, 'metadata'))
  return Object.fromEntries(metadata.filter(([field]) => IDENTITY.includes(field)))
}
