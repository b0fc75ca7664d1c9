import { unreadableAt, unreadableError } from '../cache/unreadable.ts'
import type { ServerContext } from '../context/server-context.ts'
import type { Written } from '../encoding/codec.ts'
import type { ApiRequest } from '../request/api-request.ts'
import { storageKey } from '../resource/resource.ts'
import { revisionTooLarge, type StatusError } from '../status/status.ts'

/**
 * The newest state of the object that a request names, read from the cache once that shows every write that was
 * answered before. Undefined: it does not exist. 500: it is unreadable.
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

/** The object in the cache, which is the newest state unless a write has just happened. */
export function readCached(
  context: ServerContext,
  { served: { resource }, namespace, name }: ApiRequest,
): Written | undefined {
  const item = context.feed.cache(resource).get(storageKey(resource, namespace, name))
  return item && { value: item.value, modRevision: item.revision }
}

/** Waits briefly until the caches show `revision`; 504 if they do not in time. */
export async function awaitRevision(
  context: ServerContext,
  revision: number,
): Promise<StatusError | undefined> {
  const { feed, limits } = context
  if (await feed.until(revision, limits.futureRevisionTimeout)) return undefined
  return revisionTooLarge(revision, feed.revision)
}
