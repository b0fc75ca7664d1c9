import type { Store } from '../../storage/store.ts'

/**
 * The same store, asked for its newest revision once for many readers. Whoever
 * asks while a call is under way shares the next one, never this one: what it
 * brings may be older than a write that the reader already knows of.
 */
export function withSharedRevision(store: Store): Store {
  let underWay: Promise<unknown> = Promise.resolve()
  let next: Promise<number> | undefined
  const ask = async (): Promise<number> => {
    await underWay
    next = undefined
    const call = store.revision()
    underWay = call.catch(() => undefined)
    return call
  }
  return {
    revision: () => (next ??= ask()),
    get: (key) => store.get(key),
    list: (query) => store.list(query),
    txn: (transaction) => store.txn(transaction),
    watch: (query) => store.watch(query),
    compact: (revision) => store.compact(revision),
    close: () => store.close(),
  }
}
