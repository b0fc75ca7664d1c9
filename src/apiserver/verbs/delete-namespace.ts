import { type JsonObject, stringAt } from '../../lib/json.ts'
import { unreadableAt, unreadableUnder } from '../cache/unreadable.ts'
import type { ServerContext } from '../context/server-context.ts'
import { container, storedResources } from '../kinds/catalogue.ts'
import { type ApiRequest, subjectOf } from '../request/api-request.ts'
import { storagePrefix } from '../resource/resource.ts'
import type { StatusError } from '../status/status.ts'
import { conflict, forbidden } from '../status/status-errors.ts'
import { discard } from './discard-unreadable.ts'
import { parseDryRun } from './dry-run.ts'

/** 403 for an object that is never deleted; a deletion renews one that cannot be read. */
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
 * Whether a namespace that was closed can go at once, because nothing is in it.
 * A create compares the namespace's revision, so none slips in behind this look.
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
 * 409 when a namespace that is being deleted is said to be empty, and is not. What cannot be
 * read in it goes with it: no client can see it, so none can delete it first.
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
