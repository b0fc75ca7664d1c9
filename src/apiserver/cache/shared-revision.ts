import type { Store } from '../../storage/store.ts'

/**
 * The same store, with one call for the newest revision shared by many readers. A reader
 * that comes during a call shares the next one, never that one: its result
 * may be older than a write that the reader already knows of.
 */
export function withSharedRevision(store: Store): Store {
  let underWay: Promise<unknown> = Promise.resolve()
  let next: Promise<number> | undefined
  const request = async (): Promise<number> => {
    await underWay
    next = undefined
    const call = store.revision()
    underWay = call.catch(() => undefined)
    return call
  }
  return {
    revision: () => (next ??= request()),
    get: (key) => store.get(key),
    list: (query) => store.list(query),
    txn: (transaction) => store.txn(transaction),
    watch: (query) => store.watch(query),
    compact: (revision) => store.compact(revision),
    close: () => store.close(),
  }
}
