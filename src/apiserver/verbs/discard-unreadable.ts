import { timestamp } from '../../lib/duration.ts'
import type { JsonObject } from '../../lib/json.ts'
import type { Operation } from '../../storage/store.ts'
import type { UnreadableObject } from '../cache/item.ts'
import type { ServerContext } from '../context/server-context.ts'
import { encodeStored } from '../encoding/codec.ts'
import {
  type ApiRequest,
  type HandlerResult,
  jsonReply,
  subjectOf,
} from '../request/api-request.ts'
import type { Resource } from '../resource/resource.ts'
import { conflict, type StatusError, successDocument } from '../status/status.ts'
import type { DeleteOptions } from './delete-options.ts'

/**
 * DELETE of an unreadable object: it is removed at once, because its finalizers, grace period and dependents
 * are unknown. Options that need its content are rejected: a uid as precondition, and orphaning dependents.
 */
export async function removeUnreadable(
  context: ServerContext,
  request: ApiRequest,
  {
    unreadable,
    options,
  }: { readonly unreadable: UnreadableObject; readonly options: DeleteOptions },
): Promise<HandlerResult> {
  const { resource } = request.served
  const refused = checkOptions(request, unreadable, options)
  if (refused !== undefined) return refused
  const isDone = options.dryRun || (await discard(context, resource, unreadable))
  if (!isDone) return conflict(subjectOf(request))
  const { plural: kind, group, name } = subjectOf(request)
  const details = { name, ...(group === '' ? {} : { group }), kind }
  return jsonReply(200, Buffer.from(JSON.stringify(successDocument(details))))
}

/** Removes the entry with its allocations; returns false if the key was written since. */
export async function discard(
  context: ServerContext,
  resource: Resource,
  { key, revision, cause }: UnreadableObject,
): Promise<boolean> {
  const operations = await operationsFor(context, resource, key)
  const compare = [{ key, modRevision: revision }]
  const { committed } = await context.store.txn({ compare, operations })
  const fields = { key, revision, cause }
  if (committed) context.log.warn(fields, 'an object that could not be read was discarded')
  return committed
}

async function operationsFor(
  context: ServerContext,
  resource: Resource,
  key: string,
): Promise<readonly Operation[]> {
  const renewed = renewedObject(context, resource, key)
  if (renewed !== undefined) return [{ op: 'put', key, value: encodeStored(renewed) }]
  const held = (await resource.allocation?.keysOf(context.store, key)) ?? []
  return [key, ...held].map((one) => ({ op: 'delete', key: one }))
}

function checkOptions(
  request: ApiRequest,
  { revision }: UnreadableObject,
  { uid, resourceVersion, propagation }: DeleteOptions,
): StatusError | undefined {
  const subject = subjectOf(request)
  const isOther = resourceVersion !== '' && resourceVersion !== String(revision)
  if (isOther) return conflict(subject)
  if (uid !== '') {
    return conflict(
      subject,
      'the object cannot be read, so its uid cannot be compared; leave the precondition out',
    )
  }
  if (propagation !== 'Orphan') return undefined
  const why =
    'the object cannot be read, so its dependents cannot be left behind; remove their ownerReferences first, or delete it with another propagationPolicy'
  return conflict(subject, why)
}

/** The object that replaces an unreadable one, if its kind requires a replacement. */
function renewedObject(
  { clock, random }: ServerContext,
  { deletion }: Resource,
  key: string,
): JsonObject | undefined {
  const name = key.slice(key.lastIndexOf('/') + 1)
  return deletion?.renewed?.({ name, uid: random.uuid(), now: timestamp(clock.now()) })
}
