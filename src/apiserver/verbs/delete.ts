import { stringAt } from '../../lib/json.ts'
import { checkPrivileges } from '../admission/writer-rules.ts'
import { unreadableAt } from '../cache/unreadable.ts'
import type { ServerContext } from '../context/server-context.ts'
import { decodeStored } from '../encoding/codec.ts'
import { objectReply } from '../negotiation/negotiate.ts'
import { type Persisted, persist, Stale, type Written } from '../persist/persist.ts'
import {
  type ApiRequest,
  type HandlerResult,
  jsonReply,
  subjectOf,
} from '../request/api-request.ts'
import { storageKey } from '../resource/resource.ts'
import { StatusError, successDocument } from '../status/status.ts'
import { notFound } from '../status/status-errors.ts'
import { decideOnNewest } from './decide-on-newest.ts'
import { checkProtected, isDeserted } from './delete-namespace.ts'
import { checkPreconditions, type DeleteOptions, readDeleteOptions } from './delete-options.ts'
import { isOver, markedForDeletion } from './deletion.ts'
import { removeUnreadable } from './discard-unreadable.ts'
import { removeObject } from './remove-object.ts'

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
    // A user who may not write an object, whatever the roles permit, may not delete it either.
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
