import { arrayAt, type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import { timestamp } from '../../lib/timestamp.ts'
import { type ApiRequest, jsonReply, type Outcome, subjectOf } from '../api-request.ts'
import { decodeStored } from '../codec.ts'
import { namespaces } from '../kinds/namespace.ts'
import { persist, releaseOperations, STALE, type Written } from '../persist.ts'
import { conflict, notFound } from '../refusals.ts'
import { objectReply } from '../representation.ts'
import { storageKey } from '../resource.ts'
import type { Serving } from '../serving.ts'
import { Refusal, successDocument } from '../status.ts'
import { emptyNamespace, protectNamespace } from './delete-namespace.ts'
import { checkPreconditions, type DeleteOptions, readDeleteOptions } from './delete-options.ts'

const ATTEMPTS = 20

/** What became of an object: gone, or marked and waiting for its finalizers. */
export type Deleted = {
  readonly written: Written
  readonly old: JsonObject
  readonly isGone: boolean
}

/** DELETE of one object. */
export async function remove(serving: Serving, request: ApiRequest): Promise<Outcome> {
  const options = await readDeleteOptions(serving, request)
  if (options instanceof Refusal) return options
  const isNamespace = request.face.resource === namespaces
  if (isNamespace) {
    const problem = protectNamespace(request) ?? (await emptyNamespace(serving, request, options))
    if (problem !== undefined) return problem
  }
  const remaining = isNamespace ? { ...options, resourceVersion: '' } : options
  const deleted = await deleteObject(serving, request, remaining)
  if (deleted === undefined) return notFound(subjectOf(request))
  if (deleted instanceof Refusal) return deleted
  const returnsObject = !deleted.isGone || request.face.resource.kind === 'Pod'
  if (returnsObject) return objectReply(serving, request, 200, deleted.written)
  const { plural: kind, group, name } = subjectOf(request)
  const uid = stringAt(deleted.old, 'metadata', 'uid')
  const details = { name, ...(group === '' ? {} : { group }), kind, uid }
  return jsonReply(200, Buffer.from(JSON.stringify(successDocument(details))))
}

/** Deletes or marks an object; undefined when there is none. */
export async function deleteObject(
  serving: Serving,
  request: ApiRequest,
  options: DeleteOptions,
): Promise<Deleted | Refusal | undefined> {
  const key = storageKey(request.face.resource, request.namespace, request.name)
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const before = await serving.store.get(key)
    if (before === undefined) return undefined
    const old = decodeStored(before)
    const refused = checkPreconditions(request, options, old)
    if (refused !== undefined) return refused
    if (arrayAt(old, 'metadata', 'finalizers').length > 0) {
      const write = {
        key,
        before,
        old,
        next: marked(serving, old),
        compare: [],
        dryRun: options.dryRun,
      }
      const written = await persist(serving, request, write)
      if (written instanceof Refusal) return written
      if (written !== STALE) return { written, old, isGone: false }
      continue
    }
    if (options.dryRun) return { written: before, old, isGone: true }
    const operations = [{ op: 'delete', key } as const, ...releaseOperations(serving, request, old)]
    const compare = [{ key, modRevision: before.modRevision }]
    const result = await serving.store.txn({ compare, operations })
    if (result.committed) return { written: before, old, isGone: true }
  }
  return conflict(subjectOf(request))
}

function marked(serving: Serving, old: JsonObject): JsonObject {
  const metadata = objectAt(old, 'metadata')
  if (stringAt(metadata, 'deletionTimestamp') !== '') return old
  const deletionTimestamp = timestamp(serving.clock.now())
  return { ...old, metadata: { ...metadata, deletionTimestamp, deletionGracePeriodSeconds: 0 } }
}
