import { expect, test } from 'vitest'
import type { Json } from '../../lib/json.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { createMemoryStore } from '../../storage/memory-store.ts'
import type { Store } from '../../storage/store.ts'
import { storedResources } from '../kinds/catalogue.ts'
import { pods } from '../kinds/pod/resource.ts'
import { Feed } from './feed.ts'

function createFeed(
  store: Store,
  clock: FakeClock,
  errors: { push(error: unknown): unknown } = [],
): Feed {
  return new Feed({
    store,
    clock,
    resources: storedResources,
    followers: {},
    watchWindowChanges: 1000,
    watchWindowBytes: 1 << 20,
    onUnreadable: () => undefined,
    onError: (error) => errors.push(error),
  })
}

async function putPod(store: Store, name: string, labels: Json = {}): Promise<number> {
  const value = Buffer.from(JSON.stringify({ metadata: { name, namespace: 'default', labels } }))
  const key = `/pods/default/${name}`
  const result = await store.txn({ compare: [], operations: [{ op: 'put', key, value }] })
  return result.revision
}

function namesIn(feed: Feed): readonly string[] {
  return feed
    .cache(pods)
    .snapshot()
    .map((item) => item.fields['metadata.name']!)
}

test('it starts with the past that the store remembers and follows the present', async () => {
  const store = createMemoryStore()
  const first = await putPod(store, 'a')
  await putPod(store, 'b')
  const feed = createFeed(store, new FakeClock())
  await feed.start()
  expect(namesIn(feed)).toEqual(['a', 'b'])
  expect(feed.cache(pods).window.numberAfter(first)).toBeDefined()
  const last = await putPod(store, 'c')
  expect(await feed.until(last, 1000)).toBe(true)
  expect(namesIn(feed)).toEqual(['a', 'b', 'c'])
  await feed.stop()
})

test('waiting for a revision that does not come ends by the clock', async () => {
  const clock = new FakeClock()
  const feed = createFeed(createMemoryStore(), clock)
  await feed.start()
  const waiting = feed.until(99, 500)
  await clock.advance(500)
  expect(await waiting).toBe(false)
  await feed.stop()
})

test('when the store compacts what it has not read yet, it loads anew and watchers fall behind', async () => {
  const store = createMemoryStore()
  await putPod(store, 'a')
  const clock = new FakeClock()
  let overtake = false
  const forgetful: Store = {
    ...store,
    watch: (query) => {
      if (!overtake) return store.watch({ ...query, after: query.after })
      overtake = false
      return store.watch({ ...query, after: -1 })
    },
  }
  overtake = true
  const feed = createFeed(forgetful, clock)
  await store.compact(await store.revision())
  await feed.start()
  const last = await putPod(store, 'b')
  expect(await feed.until(last, 1000)).toBe(true)
  expect(namesIn(feed)).toEqual(['a', 'b'])
  await feed.stop()
})

test('a store that fails is watched again after a second', async () => {
  const store = createMemoryStore()
  const clock = new FakeClock()
  const errors: unknown[] = []
  let failures = 1
  const flaky: Store = {
    ...store,
    watch: (query) => {
      if (failures-- > 0) throw new Error('the store is away')
      return store.watch(query)
    },
  }
  const feed = createFeed(flaky, clock, errors)
  await feed.start()
  await putPod(store, 'a')
  expect(errors).toMatchObject([{ message: 'the store is away' }])
  await clock.advance(1000)
  expect(await feed.until(1, 1000)).toBe(true)
  expect(namesIn(feed)).toEqual(['a'])
  await feed.stop()
})

test('what is loaded anew is not older than what was shown', async () => {
  const store = createMemoryStore()
  const clock = new FakeClock()
  const [broken, failed] = [Promise.withResolvers<never>(), Promise.withResolvers<void>()]
  const again = Promise.withResolvers<void>()
  const begun: number[] = []
  const flaky: Store = {
    ...store,
    watch: (query) => {
      const watch = store.watch(query)
      if (begun.push(query.after) > 1) {
        again.resolve()
        return watch
      }
      const next = () => Promise.race([watch.next(), broken.promise])
      return { next, [Symbol.asyncIterator]: () => ({ next }) as typeof watch }
    },
  }
  const feed = createFeed(flaky, clock, { push: () => failed.resolve() })
  await feed.start()
  const shown = await putPod(store, 'a')
  await feed.until(shown, 1000)
  broken.reject(new Error('the store is away'))
  await failed.promise
  await clock.advance(1000)
  await again.promise
  expect(begun).toEqual([0, shown])
  await feed.stop()
})
