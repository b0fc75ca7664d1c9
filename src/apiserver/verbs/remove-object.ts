import type { JsonObject } from '../../lib/json.ts'
import type { ServerContext } from '../context/server-context.ts'
import { encodeStored } from '../encoding/codec.ts'
import { catalogue } from '../kinds/catalogue.ts'
import { type Persisted, Stale, type Written } from '../persist/persist.ts'
import type { ApiRequest } from '../request/api-request.ts'
import { storagePrefix } from '../resource/resource.ts'

/** The number of objects that are removed in one transaction. */
const BATCH = 100

/** An object to remove. */
export interface Removal {
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
