import { timestamp } from '../../lib/timestamp.ts'
import { EMPTIED } from '../../resources/finalizers.ts'
import { NAMESPACE_NAME } from '../../resources/label-names.ts'
import type { Operation } from '../../storage/store.ts'
import type { UnreadableObject } from '../cache/item.ts'
import type { ServerContext } from '../context/server-context.ts'
import { encodeStored } from '../encoding/codec.ts'
import { LASTING_NAMESPACES, namespaces } from '../kinds/namespace.ts'
import { services } from '../kinds/service.ts'
import {
  type ApiRequest,
  type HandlerResult,
  jsonReply,
  subjectOf,
} from '../request/api-request.ts'
import type { Resource } from '../resource/resource.ts'
import { allocationsOf } from '../services/release-operations.ts'
import { type StatusError, successDocument } from '../status/status.ts'
import { conflict } from '../status/status-errors.ts'
import type { DeleteOptions } from './delete-options.ts'

/**
 * DELETE of an object that cannot be read: it goes at once, because nobody can
 * tell its finalizers, its grace or its dependents. What would need them is
 * refused: a uid as precondition, and leaving dependents behind.
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

/** Removes the bytes with what they held; false when somebody has written the key since. */
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
  if (resource === namespaces) return [{ op: 'put', key, value: renewedNamespace(context, key) }]
  const held = resource === services ? await allocationsOf(context.store, key) : []
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

/**
 * No object outlives its namespace: instead of one that cannot be read there is
 * a new one, which is emptied as any namespace that is being deleted. Those of
 * the system are never deleted and begin anew.
 */
function renewedNamespace({ clock, random }: ServerContext, key: string): Buffer {
  const name = key.slice(key.lastIndexOf('/') + 1)
  const now = timestamp(clock.now())
  const isLasting = LASTING_NAMESPACES.includes(name)
  return encodeStored({
    metadata: {
      name,
      uid: random.uuid(),
      creationTimestamp: now,
      ...(isLasting ? {} : { deletionTimestamp: now, deletionGracePeriodSeconds: 0 }),
      labels: { [NAMESPACE_NAME]: name },
    },
    spec: { finalizers: [EMPTIED] },
    status: { phase: isLasting ? 'Active' : 'Terminating' },
  })
}
