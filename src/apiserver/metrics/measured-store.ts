import type { Store } from '../../storage/store.ts'
import type { ServerMetrics } from './server-metrics.ts'

/** The store itself, but for a measurement of how long it takes to answer. */
export function measuredStore(
  store: Store,
  { storeDuration }: Pick<ServerMetrics, 'storeDuration'>,
  now: () => number = performance.now.bind(performance),
): Store {
  const measured = async <T>(operation: string, answer: () => Promise<T>): Promise<T> => {
    const start = now()
    let result = 'failed'
    try {
      const value = await answer()
      result = 'answered'
      return value
    } finally {
      storeDuration.observe({ operation, result }, (now() - start) / 1000)
    }
  }
  return {
    revision: () => measured('revision', () => store.revision()),
    get: (key) => measured('get', () => store.get(key)),
    list: (query) => measured('list', () => store.list(query)),
    txn: (transaction) => measured('txn', () => store.txn(transaction)),
    compact: (revision) => measured('compact', () => store.compact(revision)),
    watch: (query) => store.watch(query),
    close: () => store.close(),
  }
}
