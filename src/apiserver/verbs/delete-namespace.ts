import { type JsonObject, stringAt } from '../../lib/json.ts'
import { unreadableAt, unreadableUnder } from '../cache/unreadable.ts'
import type { ServerContext } from '../context/server-context.ts'
import { container, storedResources } from '../kinds/catalogue.ts'
import { type ApiRequest, subjectOf } from '../request/api-request.ts'
import { storagePrefix } from '../resource/resource.ts'
import { conflict, forbidden, type StatusError } from '../status/status.ts'
import { discard } from './discard-unreadable.ts'
import { parseDryRun } from './write-options.ts'

/** 403 for an object that is never deleted. If it is unreadable, a deletion is allowed and replaces it. */
export function checkProtected(
  context: ServerContext,
  request: ApiRequest,
): StatusError | undefined {
  const { resource } = request.served
  const isProtected = resource.deletion?.protectedNames?.includes(request.name) === true
  if (!isProtected || unreadableAt(context, resource, request) !== undefined) return undefined
  return forbidden(subjectOf(request), `this ${resource.singular} may not be deleted`)
}

/**
 * Whether a closed namespace is empty and can be removed at once. No object can be created after this check,
 * because a create is conditional on the revision of the namespace.
 */
export async function isDeserted(
  context: ServerContext,
  request: ApiRequest,
  closed: JsonObject,
): Promise<boolean> {
  if (request.served.resource !== container || !container.container.waitsForContent(closed))
    return false
  return (await leftIn(context, request.name)) === undefined
}

/**
 * 409 when a client reports that a namespace is empty although it is not. Unreadable objects in it are removed
 * with the namespace, because clients cannot see and delete them.
 */
export async function checkEmptied(
  context: ServerContext,
  request: ApiRequest,
  next: JsonObject,
  old: JsonObject,
): Promise<StatusError | undefined> {
  if (request.served.resource !== container || !container.container.reportsEmpty(next, old))
    return undefined
  if (stringAt(old, 'metadata', 'deletionTimestamp') === '') return undefined
  if (parseDryRun(request) === false) await discardIn(context, request.name)
  const left = await leftIn(context, request.name)
  if (left === undefined) return undefined
  return conflict(subjectOf(request), `there are still ${left} in it`)
}

async function discardIn(context: ServerContext, namespace: string): Promise<void> {
  for (const resource of storedResources.filter(({ namespaced }) => namespaced)) {
    for (const one of unreadableUnder(context, resource, namespace)) {
      await discard(context, resource, one)
    }
  }
}

/** A resource with objects left in a namespace. Objects that are deleted together with the namespace do not keep it. */
async function leftIn(context: ServerContext, namespace: string): Promise<string | undefined> {
  for (const resource of storedResources) {
    if (!resource.namespaced || resource.goesWithNamespace) continue
    const prefix = storagePrefix(resource, namespace)
    const page = await context.store.list({ prefix, limit: 1 })
    if (page.refused !== undefined || page.entries.length > 0) return resource.plural
  }
  return undefined
}
