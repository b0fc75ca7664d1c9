import type { ServerContext } from '../context/server-context.ts'
import { events } from '../kinds/event.ts'
import { storagePrefix } from '../resource/resource.ts'

/** Removed in one transaction. */
const BATCH = 100

/** Removes the Events of a namespace that goes: they are about what is gone. */
export async function removeEvents(context: ServerContext, namespace: string): Promise<void> {
  const prefix = storagePrefix(events, namespace)
  while (true) {
    const page = await context.store.list({ prefix, limit: BATCH })
    if (page.refused !== undefined || page.entries.length === 0) return
    const operations = page.entries.map(({ key }) => ({ op: 'delete', key }) as const)
    const compare = page.entries.map(({ key, modRevision }) => ({ key, modRevision }))
    await context.store.txn({ compare, operations })
  }
}
