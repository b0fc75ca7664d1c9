import type { Item } from '../cache/item.ts'
import { unreadableUnder, warnOfUnreadable } from '../cache/unreadable.ts'
import type { ServerContext } from '../context/server-context.ts'
import type { Shown } from '../negotiation/answer-form.ts'
import { negotiate } from '../negotiation/negotiate.ts'
import type { ApiRequest, HandlerResult } from '../request/api-request.ts'
import { parseListOptions } from '../request/list-options.ts'
import { storagePrefix } from '../resource/resource.ts'
import { StatusError } from '../status/status.ts'
import { awaitRevision } from './await-revision.ts'
import { deleteObject } from './delete.ts'
import { type DeleteOptions, readDeleteOptions } from './delete-options.ts'
import { discard } from './discard-unreadable.ts'

/**
 * DELETE of a collection: every object that the selectors match, one by one. Without selectors
 * those go as well that cannot be read.
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
  const late = await awaitRevision(context, await context.store.revision())
  if (late !== undefined) return late
  const { resource } = request.served
  const all = context.feed.cache(resource).under(storagePrefix(resource, request.namespace))
  const deleted = await deleteEach(
    context,
    request,
    all.filter((item) => options.selection.matches(item)),
    deleteOptions,
  )
  if (deleted instanceof StatusError) return deleted
  const unreadable = unreadableUnder(context, resource, request.namespace)
  if (options.selection.everything && !deleteOptions.dryRun) {
    for (const one of unreadable) await discard(context, resource, one)
  } else warnOfUnreadable(request, unreadable)
  const revision = await context.store.revision()
  const { contentType } = representation
  return { code: 200, contentType, body: representation.list(deleted, { revision }) }
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
