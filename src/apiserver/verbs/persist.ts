import { isDeepEqual } from '../../lib/equal.ts'
import { type JsonObject, objectAt, without } from '../../lib/json.ts'
import type { Compare, Operation, Store, StoredEntry } from '../../storage/store.ts'
import { ALLOCATIONS, allocationOwner } from '../allocation/allocation-keys.ts'
import { isReadable, readItem } from '../cache/item.ts'
import type { ServerContext } from '../context/server-context.ts'
import { encodeStored, type Written } from '../encoding/codec.ts'
import { jsonShape } from '../encoding/parse-json.ts'
import { catalogue } from '../kinds/catalogue.ts'
import { type ApiRequest, invalidObject } from '../request/api-request.ts'
import { type AllocationPlan, type Allocator, storagePrefix } from '../resource/resource.ts'
import { type StatusCause, type StatusError, tooLarge } from '../status/status.ts'

/**
 * The size limit of an object. etcd by default accepts 1.5 MiB in one request; the difference is for keys and
 * allocations.
 */
const MAX_BYTES = 1_500_000

/** The parts of the server that a write uses. */
interface PersistContext {
  readonly store: Pick<Store, 'txn'>
  readonly limits: StorableLimits
  readonly allocator: Allocator
}

/** One object about to be written. */
interface Write {
  readonly key: string
  /** The entry that is replaced; undefined: the key must be absent. */
  readonly before: Written | undefined
  /** The object in `before`, decoded. */
  readonly old: JsonObject | undefined
  readonly next: JsonObject
  /** Further conditions of the transaction. */
  readonly compare: readonly Compare[]
  readonly dryRun: boolean
}

export interface Persisted extends Written {
  /** False if nothing was written: in a dry run, or because the object is unchanged. */
  readonly isCommitted: boolean
}

/** Nothing was written, because another writer was first. The write must be computed again. */
export class Stale {
  /** The object at the time when the compare failed; undefined: it did not exist. */
  readonly newest: Written | undefined

  constructor(newest: Written | undefined) {
    this.newest = newest
  }
}

/** The maximum number of attempts with another free address or port. */
const MAX_ATTEMPTS = 100

/**
 * Stores an object, with the addresses and ports that it needs, in one transaction. Does nothing if the object
 * is unchanged.
 */
export async function persist(
  context: PersistContext,
  request: ApiRequest,
  write: Write,
): Promise<Persisted | StatusError | Stale> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const plan = allocate(context, request, write)
    if ('cause' in plan) return invalidObject(request, write.next, [plan.cause])
    if (isUnchanged(write, plan.object)) return { ...write.before!, isCommitted: false }
    const value = encodeStored(plan.object)
    const refused = checkStorable(value, context.limits)
    if (refused !== undefined) return refused
    const modRevision = write.before?.modRevision ?? 0
    if (write.dryRun) return { value, modRevision, isCommitted: false }
    const own = { key: write.key, modRevision }
    const compare = [own, ...write.compare, ...plan.compare]
    const put: Operation = { op: 'put', key: write.key, value }
    const result = await context.store.txn({ compare, operations: [put, ...plan.operations] })
    if (result.committed) return { value, modRevision: result.revision, isCommitted: true }
    const lost = compare.filter(
      (one, index) => (result.current[index]?.modRevision ?? 0) !== one.modRevision,
    )
    const taken = lost.filter((one) => plan.compare.includes(one))
    if (taken.length < lost.length) return new Stale(result.current[0])
    for (const { key } of taken) {
      const cause = context.allocator.taken(key, write.next)
      if (cause !== undefined) return invalidObject(request, write.next, [cause])
    }
  }
  return new Stale(write.before)
}

function allocate(
  context: PersistContext,
  request: ApiRequest,
  write: Write,
): AllocationPlan | { readonly cause: StatusCause } {
  if (request.served.resource.allocation === undefined) {
    return { object: write.next, compare: [], operations: [] }
  }
  const plan = context.allocator.plan(write.key, write.next, write.old)
  return 'object' in plan ? plan : { cause: plan }
}

function isUnchanged(write: Write, next: JsonObject): boolean {
  return write.old !== undefined && isDeepEqual(comparable(write.old), comparable(next))
}

function comparable(object: JsonObject): JsonObject {
  const metadata = without(objectAt(object, 'metadata'), 'resourceVersion')
  return { ...without(object, 'kind', 'apiVersion'), metadata }
}

interface StorableLimits {
  /** The limit of nesting of the JSON in a request. */
  readonly jsonDepth: number
}

/**
 * 413 for an object that became too large for a store or too deeply nested for recursive code, perhaps by a
 * series of patches. Twice the depth is allowed, because managedFields are nested as deeply as the fields.
 */
function checkStorable(value: Buffer, { jsonDepth }: StorableLimits): StatusError | undefined {
  if (value.length > MAX_BYTES) {
    return tooLarge(
      `Request entity too large: the object would have ${value.length} bytes, limit is ${MAX_BYTES}`,
    )
  }
  if (jsonShape(value).depth <= 2 * jsonDepth) return undefined
  return tooLarge(`the object would be nested deeper than ${2 * jsonDepth} levels`)
}

/** Deletes a key if its entry still has this revision; returns false if it was written since. */
export async function deleteUnchanged(
  store: Store,
  key: string,
  modRevision: number,
): Promise<boolean> {
  const operations = [{ op: 'delete', key } as const]
  const { committed } = await store.txn({ compare: [{ key, modRevision }], operations })
  return committed
}

/**
 * Why the server cannot use the entry of a key, by the same checks as its caches make on loading; undefined: it
 * can, or the kind of the key is not known here.
 */
export function examineStored(entry: StoredEntry): string | undefined {
  const root = entry.key.slice(1, entry.key.indexOf('/', 1))
  if (root === ALLOCATIONS) {
    return allocationOwner(entry) === '' ? 'the allocation names no Service' : undefined
  }
  const resource = catalogue.find(({ plural }) => plural === root)
  if (resource === undefined) return undefined
  const item = readItem(resource, entry)
  return isReadable(item) ? undefined : item.cause
}

/** The number of objects that are removed in one transaction. */
const BATCH = 100

/** An object to remove. */
interface Removal {
  readonly key: string
  readonly before: Pick<Written, 'modRevision'>
  /** The object in `before`, decoded. */
  readonly old: JsonObject
  /** Its last state, which is returned to the client and not stored. */
  readonly next: JsonObject
  readonly dryRun: boolean
}

/** Removes an object with its allocations, and returns its last state. */
export async function removeObject(
  context: ServerContext,
  request: ApiRequest,
  { key, before, old, next, dryRun }: Removal,
): Promise<Persisted | Stale> {
  const { modRevision } = before
  const last = { value: encodeStored(next), modRevision }
  if (dryRun) return { ...last, isCommitted: false }
  const { allocation, container } = request.served.resource
  if (container !== undefined) await removeWithNamespace(context, request.name)
  const { store } = context
  const release = (await allocation?.release(store, key, old)) ?? []
  const operations = [{ op: 'delete', key } as const, ...release]
  const result = await store.txn({ compare: [{ key, modRevision }], operations })
  return result.committed ? { ...last, isCommitted: true } : new Stale(result.current[0])
}

/** Removes the objects that do not outlive their namespace but do not delay its deletion, such as Events. */
async function removeWithNamespace(context: ServerContext, namespace: string): Promise<void> {
  for (const resource of catalogue.filter(({ goesWithNamespace }) => goesWithNamespace)) {
    await removeAll(context, storagePrefix(resource, namespace))
  }
}

async function removeAll({ store }: ServerContext, prefix: string): Promise<void> {
  while (true) {
    const page = await store.list({ prefix, limit: BATCH })
    if (page.refused !== undefined || page.entries.length === 0) return
    const operations = page.entries.map(({ key }) => ({ op: 'delete', key }) as const)
    const compare = page.entries.map(({ key, modRevision }) => ({ key, modRevision }))
    await store.txn({ compare, operations })
  }
}
