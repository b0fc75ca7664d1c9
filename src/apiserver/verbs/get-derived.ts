import { type JsonObject, objectAt } from '../../lib/json.ts'
import { type ApiRequest, jsonReply, type Outcome, subjectOf } from '../api-request.ts'
import { decodeStored } from '../codec.ts'
import { parseAccept } from '../http/media-type.ts'
import { notAcceptable, notFound } from '../refusals.ts'
import { apiVersionOf, type DerivedSubresource, storageKey } from '../resource.ts'
import type { Serving } from '../serving.ts'
import { awaitRevision } from './await-revision.ts'
import { wantedRevision } from './list.ts'

const JSON_TYPES = new Set(['application/json', 'application/*', '*/*'])

/** GET of a derived subresource: object and surroundings as the newest revision has them. */
export async function getDerived(
  { kind, derive }: DerivedSubresource,
  serving: Serving,
  request: ApiRequest,
): Promise<Outcome> {
  const { face, namespace, name, accept } = request
  const isReadable = parseAccept(accept).some(
    ({ type, parameters }) => JSON_TYPES.has(type) && !parameters.has('as'),
  )
  if (!isReadable) return notAcceptable(['application/json'])
  const late = await awaitRevision(serving, await wantedRevision(serving, undefined))
  if (late !== undefined) return late
  const item = serving.feed.cache(face.resource).get(storageKey(face.resource, namespace, name))
  if (item === undefined) return notFound(subjectOf(request))
  const object = decodeStored({ value: item.value, modRevision: item.revision })
  const head = { kind, apiVersion: apiVersionOf(face), metadata: identityOf(object) }
  const answer = { ...head, ...derive(serving, object) }
  return jsonReply(200, Buffer.from(`${JSON.stringify(answer)}\n`))
}

const IDENTITY = ['name', 'namespace', 'uid', 'resourceVersion', 'creationTimestamp']

function identityOf(object: JsonObject): JsonObject {
  const metadata = Object.entries(objectAt(object, 'metadata'))
  return Object.fromEntries(metadata.filter(([field]) => IDENTITY.includes(field)))
}
