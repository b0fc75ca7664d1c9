import type { ServerContext } from '../context/server-context.ts'
import { catalogue } from '../kinds/catalogue.ts'
import { storagePrefix } from '../resource/resource.ts'

/** Removed in one transaction. */
const BATCH = 100

/** Removes the objects that go with their namespace, such as Events: they are about what is gone. */
export async function removeWithNamespace(
  context: ServerContext,
  namespace: string,
): Promise<void> {
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
