import type { Clock } from '../../lib/clock.ts'
import { type JsonObject, stringAt } from '../../lib/json.ts'
import type { Random } from '../../lib/random.ts'
import type { Store } from '../../storage/store.ts'
import type { Feed } from '../cache/feed.ts'
import { objectReader } from '../cache/object-reader.ts'
import { type ApiRequest, subjectOf } from '../request/api-request.ts'
import { applyDefaults } from '../resource/object-rules.ts'
import { CreationRefusal, type MissingObject, storageKey } from '../resource/resource.ts'
import { StatusError } from '../status/status.ts'
import { forbidden } from '../status/status-errors.ts'
import { namespaceCondition } from './namespace-gate.ts'

/** The parts of the server that completing a new object uses. */
export interface CompletionContext {
  readonly store: Pick<Store, 'get' | 'revision'>
  readonly feed: Pick<Feed, 'cache' | 'until'>
  readonly clock: Clock
  readonly random: Random
  readonly knowsUsers: boolean
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
    objects: objectReader(context),
    namespace: request.namespace,
    random: context.random,
  }
  const defaulted = applyDefaults(resource, object) as JsonObject
  let next = complete(input, defaulted)
  if (next instanceof CreationRefusal && next.missing !== undefined) {
    await context.feed.until(await context.store.revision(), CACHE_LAG_MS)
    if (next.missing.isExpected) await untilPresent(context, request, next.missing)
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
