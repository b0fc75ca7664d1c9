import { unreadableAt, unreadableError } from '../cache/unreadable.ts'
import type { ServerContext } from '../context/server-context.ts'
import type { Written } from '../persist/persist.ts'
import type { ApiRequest } from '../request/api-request.ts'
import { storageKey } from '../resource/resource.ts'
import type { StatusError } from '../status/status.ts'
import { revisionTooLarge } from '../status/status-errors.ts'

/**
 * The object that a request names, as the newest revision has it: read from
 * the cache, as soon as that shows every write that was answered before.
 * Undefined when there is none, 500 when it cannot be read.
 */
export async function readNewest(
  context: ServerContext,
  request: ApiRequest,
): Promise<Written | StatusError | undefined> {
  const late = await awaitRevision(context, await context.store.revision())
  if (late !== undefined) return late
  const unreadable = unreadableAt(context, request.served.resource, request)
  return unreadable === undefined ? readCached(context, request) : unreadableError(unreadable)
}

/** The object as the cache shows it now: the newest, unless a write has just happened. */
export function readCached(
  context: ServerContext,
  { served: { resource }, namespace, name }: ApiRequest,
): Written | undefined {
  const item = context.feed.cache(resource).get(storageKey(resource, namespace, name))
  return item && { value: item.value, modRevision: item.revision }
}

/** Waits a little until the caches show `revision`; 504 when they do not get there. */
export async function awaitRevision(
  context: ServerContext,
  revision: number,
): Promise<StatusError | undefined> {
  const { feed, limits } = context
  if (await feed.until(revision, limits.futureRevisionTimeout)) return undefined
  return revisionTooLarge(revision, feed.revision)
}
