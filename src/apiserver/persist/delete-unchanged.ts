import type { Store } from '../../storage/store.ts'

/** Deletes a key whose entry is still of this revision; false when it was written since. */
export async function deleteUnchanged(
  store: Store,
  key: string,
  modRevision: number,
): Promise<boolean> {
  const operations = [{ op: 'delete', key } as const]
  const { committed } = await store.txn({ compare: [{ key, modRevision }], operations })
  return committed
}
