import type { Store } from '../../storage/store.ts'

/** For tests: a store whose changes wait on their way to the caches while `hold` is in force. */
export interface LateCaches {
  readonly wrap: (store: Store) => Store
  hold(): void
  release(): void
}

export function lateCaches(): LateCaches {
  let gate = Promise.withResolvers<void>()
  gate.resolve()
  return {
    wrap: (store) => ({
      ...store,
      watch: (query) => {
        const watch = store.watch(query)
        const next = async () => {
          const batch = await watch.next()
          await gate.promise
          return batch
        }
        return { next, [Symbol.asyncIterator]: () => ({ next }) as typeof watch }
      },
    }),
    hold: () => {
      gate = Promise.withResolvers()
    },
    release: () => gate.resolve(),
  }
}
