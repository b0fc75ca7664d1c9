import type { Authorizer } from '../../auth/rbac/authorizer.ts'
import type { Clock } from '../../lib/clock.ts'
import { type JsonObject, stringAt } from '../../lib/json.ts'
import type { Random } from '../../lib/random.ts'
import type { Compare, Store } from '../../storage/store.ts'
import { type CacheReader, type Feed, objectReader } from '../cache/feed.ts'
import { isReadable, readItem } from '../cache/item.ts'
import { unreadableError } from '../cache/unreadable.ts'
import { container } from '../kinds/catalogue.ts'
import { type ApiRequest, subjectOf } from '../request/api-request.ts'
import { applyDefaults } from '../resource/object-rules.ts'
import { CreationRefusal, type MissingObject, storageKey } from '../resource/resource.ts'
import { forbidden, notFound, StatusError } from '../status/status.ts'
import { checkPrivileges } from './write-rules.ts'

/** The parts of the server that completing a new object uses. */
interface CompletionContext {
  readonly store: Pick<Store, 'get' | 'revision'>
  readonly feed: Pick<Feed, 'cache' | 'until'>
  readonly clock: Clock
  readonly random: Random
  readonly knowsUsers: boolean
  readonly authorizer: Authorizer
}

/** Milliseconds that the creation of an object waits for another object that a controller is about to create. */
const EXPECTED_MS = 30_000
/** Milliseconds that the caches may take to show the state of the store. */
const CACHE_LAG_MS = 1000

/**
 * A new object completed from other objects, or 403 if they forbid it; its namespace must exist. An object that
 * the caches do not show is looked up again once they show everything that is stored.
 */
export async function completeObject(
  context: CompletionContext,
  request: ApiRequest,
  object: JsonObject,
): Promise<JsonObject | StatusError> {
  const { resource } = request.served
  const { complete } = resource
  if (complete === undefined || !context.knowsUsers) return object
  const namespace = await namespaceCondition(context, request, false)
  if (namespace instanceof StatusError) return namespace
  const input = {
    user: request.user,
    objects: objectReader(context),
    namespace: request.namespace,
    random: context.random,
  }
  const defaulted = applyDefaults(resource, object) as JsonObject
  let next = complete(input, defaulted)
  if (next instanceof CreationRefusal && next.missing !== undefined) {
    await context.feed.until(await context.store.revision(), CACHE_LAG_MS)
    if (next.missing.isExpected) {
      // Who may not write it need not wait to hear so.
      const denied = checkPrivileges(context, request, defaulted)
      if (denied !== undefined) return denied
      const { missing } = next
      const refused = await request.waitForOthers(() => untilPresent(context, request, missing))
      if (refused !== undefined) return refused
    }
    next = complete(input, defaulted)
  }
  if (!(next instanceof CreationRefusal)) return next
  const { why } = next
  const metadata = object['metadata']
  const name = stringAt(metadata, 'name') || stringAt(metadata, 'generateName')
  return forbidden(subjectOf(request, name), why)
}

/** Resolves when the caches show the object, the client has gone, or the time is up. */
async function untilPresent(
  { feed, clock }: CompletionContext,
  { deadline: { signal } }: ApiRequest,
  { resource, namespace, name }: MissingObject,
): Promise<void> {
  const cache = feed.cache(resource)
  const key = storageKey(resource, namespace, name)
  if (cache.get(key) !== undefined || signal.aborted) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const unsubscribe = cache.subscribe(() => {
    if (cache.get(key) !== undefined) resolve()
  })
  const cancel = clock.after(EXPECTED_MS, resolve)
  signal.addEventListener('abort', () => resolve(), { once: true })
  await promise
  cancel()
  unsubscribe()
}

/** The caches and the store, in which a namespace is looked up. */
interface NamespaceReader extends CacheReader {
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
