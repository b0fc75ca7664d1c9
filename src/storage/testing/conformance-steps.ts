import type { Operation, RevisionRefusal, Store, WatchBatch } from '../store.ts'

/** Makes an empty store for one test. */
export type StoreFactory = () => Promise<Store>

/** A batch that carries changes. */
export type WatchedChanges = Exclude<WatchBatch, RevisionRefusal>

export function put(key: string, value: string): Operation {
  return { op: 'put', key, value: Buffer.from(value) }
}

export function remove(key: string): Operation {
  return { op: 'delete', key }
}

export async function write(store: Store, ...operations: readonly Operation[]): Promise<number> {
  const result = await store.txn({ compare: [], operations })
  return result.revision
}

/** A batch of a watch, or a failed test when the watch was refused or ended. */
export async function nextBatch(watch: AsyncIterator<WatchBatch>): Promise<WatchedChanges> {
  const { value } = await watch.next()
  if (value === undefined || value.refused !== undefined) {
    throw new Error(`watch ended: ${JSON.stringify(value)}`)
  }
  return value
}
