import { stringAt } from '../../lib/json.ts'
import { checkPrivileges } from '../admission/write-rules.ts'
import type { Item } from '../cache/item.ts'
import { unreadableAt, unreadableUnder, warnOfUnreadable } from '../cache/unreadable.ts'
import type { ServerContext } from '../context/server-context.ts'
import { decodeStored, type Written } from '../encoding/codec.ts'
import type { Shown } from '../negotiation/answer-form.ts'
import { negotiate, objectReply } from '../negotiation/negotiate.ts'
import {
  type ApiRequest,
  type HandlerResult,
  jsonReply,
  subjectOf,
} from '../request/api-request.ts'
import { parseListOptions } from '../request/list-options.ts'
import { storageKey } from '../resource/resource.ts'
import { notFound, StatusError, successDocument } from '../status/status.ts'
import { decideOnNewest } from './decide-on-newest.ts'
import { checkProtected, isDeserted } from './delete-namespace.ts'
import { checkPreconditions, type DeleteOptions, readDeleteOptions } from './delete-options.ts'
import { isOver, markedForDeletion } from './deletion.ts'
import { discard, removeUnreadable } from './discard-unreadable.ts'
import { find } from './list.ts'
import { type Persisted, persist, removeObject, Stale } from './persist.ts'

/** The object after its deletion: removed, or marked for deletion and kept by finalizers or its grace period. */
export interface Deleted extends Persisted {
  readonly isGone: boolean
}

/** DELETE of one object. */
export async function remove(context: ServerContext, request: ApiRequest): Promise<HandlerResult> {
  const options = readDeleteOptions(context, request)
  if (options instanceof StatusError) return options
  const marked = checkProtected(context, request) ?? (await deleteObject(context, request, options))
  const unreadable = unreadableAt(context, request.served.resource, request)
  if (unreadable !== undefined && marked instanceof StatusError) {
    return removeUnreadable(context, request, { unreadable, options })
  }
  if (marked === undefined) return notFound(subjectOf(request))
  if (marked instanceof StatusError) return marked
  const deleted = options.dryRun ? marked : await withoutWaiting(context, request, marked)
  const returnsObject = !deleted.isGone || request.served.resource.returnsDeleted === true
  if (returnsObject) return objectReply(context, request, 200, deleted)
  const { plural: kind, group, name } = subjectOf(request)
  const uid = stringAt(decodeStored(deleted), 'metadata', 'uid')
  const details = { name, ...(group === '' ? {} : { group }), kind, uid }
  return jsonReply(200, Buffer.from(JSON.stringify(successDocument(details))))
}

/** Deletes or marks an object; undefined when there is none. */
export async function deleteObject(
  context: ServerContext,
  request: ApiRequest,
  options: DeleteOptions,
): Promise<Deleted | StatusError | undefined> {
  const { resource } = request.served
  const key = storageKey(resource, request.namespace, request.name)
  const decide = async (before: Written): Promise<Deleted | StatusError | Stale> => {
    const old = decodeStored(before)
    // The rules for writers beyond RBAC are for deletions, too: a node agent deletes only what is of its node.
    const refused =
      checkPrivileges(context, request, old, old) ?? checkPreconditions(request, options, old)
    if (refused !== undefined) return refused
    const next = markedForDeletion(resource, old, options, context.clock.now())
    const isGone = isOver(resource, next)
    const write = { key, before, old, next, compare: [], dryRun: options.dryRun }
    const last = resource.deletion?.returnsMarked ? next : old
    const written = isGone
      ? await removeObject(context, request, { ...write, next: last })
      : await persist(context, request, write)
    return written instanceof StatusError || written instanceof Stale
      ? written
      : { ...written, isGone }
  }
  const isConditional = options.resourceVersion !== ''
  return decideOnNewest(context, request, { isConditional, decide })
}

/** Removes an empty namespace at once, without waiting for the namespace controller. */
async function withoutWaiting(
  context: ServerContext,
  request: ApiRequest,
  marked: Deleted,
): Promise<Deleted> {
  const closed = decodeStored(marked)
  if (marked.isGone || !(await isDeserted(context, request, closed))) return marked
  const key = storageKey(request.served.resource, request.namespace, request.name)
  const removal = { key, before: marked, old: closed, next: closed, dryRun: false }
  const written = await removeObject(context, request, removal)
  return written instanceof Stale ? marked : { ...written, isGone: true }
}

/**
 * DELETE of a collection: deletes every object that a list with the same options has, one by one. With `limit` it is a page
 * of them, and the answer says where the next one begins. Without selectors the last page also deletes unreadable objects.
 */
export async function removeCollection(
  context: ServerContext,
  request: ApiRequest,
): Promise<HandlerResult> {
  const options = parseListOptions(request.served, request.query)
  if (options instanceof StatusError) return options
  const deleteOptions = readDeleteOptions(context, request)
  if (deleteOptions instanceof StatusError) return deleteOptions
  const representation = negotiate(context, request, 'list')
  if (representation instanceof StatusError) return representation
  const found = await find(context, request, options)
  if (found instanceof StatusError) return found
  const deleted = await deleteEach(context, request, found.items, deleteOptions)
  if (deleted instanceof StatusError) return deleted
  const { resource } = request.served
  const isLast = found.meta.continueToken === undefined
  if (isLast && options.selection.everything && !deleteOptions.dryRun) {
    const unreadable = unreadableUnder(context, resource, request.namespace)
    for (const one of unreadable) await discard(context, resource, one)
  } else warnOfUnreadable(request, found.unreadable)
  const meta = { ...found.meta, revision: await context.store.revision() }
  const { contentType } = representation
  return { code: 200, contentType, body: representation.list(deleted, meta) }
}

async function deleteEach(
  context: ServerContext,
  request: ApiRequest,
  items: readonly Item[],
  options: DeleteOptions,
): Promise<readonly Shown[] | StatusError> {
  const deleted: Shown[] = []
  for (const { namespace, fields } of items) {
    const one = { ...request, namespace, name: fields['metadata.name']! }
    const outcome = await deleteObject(context, one, options)
    if (outcome instanceof StatusError) return outcome
    if (outcome === undefined) continue
    deleted.push({ value: outcome.value, revision: outcome.modRevision })
  }
  return deleted
}
