import type { Compare, Store } from '../../storage/store.ts'
import type { CacheReader } from '../cache/feed.ts'
import { isReadable, readItem } from '../cache/item.ts'
import { unreadableError } from '../cache/unreadable.ts'
import { container } from '../kinds/catalogue.ts'
import { type ApiRequest, subjectOf } from '../request/api-request.ts'
import { storageKey } from '../resource/resource.ts'
import type { StatusError } from '../status/status.ts'
import { forbidden, notFound } from '../status/status-errors.ts'

/** The caches and the store, in which a namespace is looked up. */
export interface NamespaceReader extends CacheReader {
  readonly store: Pick<Store, 'get'>
}

/**
 * The condition under which an object may be created in a namespace: the namespace exists at the version that
 * was read, and is not being deleted. `fresh`: read the store, because the cache turned out to be behind.
 */
export async function namespaceCondition(
  context: NamespaceReader,
  request: ApiRequest,
  fresh: boolean,
): Promise<readonly Compare[] | StatusError> {
  if (!request.served.resource.namespaced) return []
  const key = storageKey(container, '', request.namespace)
  const cached = fresh ? undefined : context.feed.cache(container).get(key)
  if (cached !== undefined) {
    if (container.container.isClosed(cached.fields)) return terminating(request)
    return [{ key, modRevision: cached.revision }]
  }
  const entry = await context.store.get(key)
  if (entry === undefined)
    return notFound({ plural: container.plural, group: '', name: request.namespace })
  const item = readItem(container, entry)
  if (!isReadable(item)) return unreadableError(item)
  return container.container.isClosed(item.fields)
    ? terminating(request)
    : [{ key, modRevision: entry.modRevision }]
}

function terminating(request: ApiRequest): StatusError {
  const { namespace } = request
  const message = `namespace ${namespace} is being terminated`
  const cause = { reason: 'NamespaceTerminating', message, field: 'metadata.namespace' }
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`
  return forbidden(subjectOf(request), why, [cause])
}
