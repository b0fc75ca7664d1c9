import { quote } from '../../lib/quote.ts'
import type { Conditions } from '../../telemetry/health/conditions.ts'
import type { ApiRequest } from '../request/api-request.ts'
import { type Resource, storageKey, storagePrefix } from '../resource/resource.ts'
import { internalError, type StatusError } from '../status/status.ts'
import type { CacheReader } from './feed.ts'
import type { UnreadableObject } from './item.ts'

/** Objects that one message names. */
const MAX_NAMED = 5

/** The unreadable stored object of this name, if there is one. */
export function unreadableAt(
  { feed }: CacheReader,
  resource: Resource,
  at: { readonly namespace: string; readonly name: string },
): UnreadableObject | undefined {
  return feed.cache(resource).unreadable.get(storageKey(resource, at.namespace, at.name))
}

/** The unreadable objects of a resource in a namespace; empty: in all namespaces. */
export function unreadableUnder(
  { feed }: CacheReader,
  resource: Resource,
  namespace: string,
): readonly UnreadableObject[] {
  const prefix = storagePrefix(resource, resource.namespaced ? namespace : '')
  return [...feed.cache(resource).unreadable.values()].filter(({ key }) => key.startsWith(prefix))
}

/** 500 with the key, the cause and the remedy. */
export function unreadableError({ error }: UnreadableObject): StatusError {
  return internalError(`${error.message}; ${error.hint ?? ''}`)
}

/** Warns the client of a list that objects are missing from it. */
export function warnOfUnreadable(
  request: Pick<ApiRequest, 'warn'>,
  all: readonly UnreadableObject[],
): void {
  if (all.length > 0) request.warn(unreadableSummary(all))
}

/** Raises the lasting condition `unreadable-objects` while there is such an object. */
export function reportUnreadable(conditions: Conditions, all: readonly UnreadableObject[]): void {
  const reason = 'unreadable-objects'
  if (all.length === 0) conditions.clear(reason)
  else conditions.raise(reason, { message: unreadableSummary(all), blocksReadiness: false })
}

/** The message for operators about all of them. */
function unreadableSummary(all: readonly UnreadableObject[]): string {
  const keys = all.map(({ key }) => key).toSorted()
  const named = keys.slice(0, MAX_NAMED).map(quote)
  const more = keys.length > named.length ? `, and ${keys.length - named.length} more` : ''
  const what =
    keys.length === 1
      ? 'stored object cannot be read and is'
      : 'stored objects cannot be read and are'
  return `${keys.length} ${what} not served: ${named.join(', ')}${more}; delete them by name, which discards them, or restore a backup (orch-server check names all)`
}
