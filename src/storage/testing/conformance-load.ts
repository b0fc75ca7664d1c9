import { expect, test } from 'vitest'
import type { Store, WatchBatch } from '../store.ts'
import { nextBatch, put, remove, type StoreFactory, write } from './conformance-steps.ts'

/** Registers the part of the contract that shows only when much happens at once, or is large. */
export function registerLoadTests(open: StoreFactory): void {
  test('concurrent writers get one revision each, and watchers see them all', async () => {
    const store = await open()
    const after = await store.revision()
    const names = Array.from({ length: 50 }, (_, index) => `/many/${index}`)
    const revisions = await Promise.all(names.map((name) => write(store, put(name, 'x'))))
    expect(new Set(revisions).size).toBe(50)
    const inOrder = names
      .map((name, index) => ({ name, revision: revisions[index]! }))
      .toSorted((one, other) => one.revision - other.revision)
    const watch = store.watch({ prefix: '/many/', after })
    expect(await keysUntil(watch, inOrder.at(-1)!.revision)).toEqual(
      inOrder.map(({ name }) => name),
    )
  })

  test('of many who create the same key exactly one succeeds, and the others see it', async () => {
    const store = await open()
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        store.txn({
          compare: [{ key: '/one', modRevision: 0 }],
          operations: [put('/one', String(index))],
        }),
      ),
    )
    expect(results.filter(({ committed }) => committed)).toHaveLength(1)
    const winner = await store.get('/one')
    for (const result of results) {
      expect(result.committed ? winner : result.current[0]).toEqual(winner)
    }
  })

  test('a watch of the past catches up with the present while writes go on', async () => {
    const store = await open()
    const after = await store.revision()
    for (let index = 0; index < 30; index++) await write(store, put(`/p/${index}`, 'x'))
    const watch = store.watch({ prefix: '/p/', after })
    const first = await nextBatch(watch)
    const last = await writeMore(store, 30, 60)
    const seen = first.events.map(({ key }) => key).concat(await keysUntil(watch, last))
    expect(seen).toEqual(Array.from({ length: 60 }, (_, index) => `/p/${index}`))
  })

  test('many watchers of one prefix all see the same, those of another nothing of it', async () => {
    const store = await open()
    const after = await store.revision()
    const watches = Array.from({ length: 40 }, (_, index) =>
      store.watch({ prefix: index % 2 === 0 ? '/even/' : '/odd/', after }),
    )
    const first = watches.map((watch) => nextBatch(watch))
    await write(store, put('/even/a', 'x'), put('/odd/b', 'x'))
    const seen = (await Promise.all(first)).map(({ events }) => events.map(({ key }) => key).join())
    expect(new Set(seen.filter((_, index) => index % 2 === 0))).toEqual(new Set(['/even/a']))
    expect(new Set(seen.filter((_, index) => index % 2 === 1))).toEqual(new Set(['/odd/b']))
    for (const watch of watches) await watch.return?.()
  })

  test('a value of a megabyte is kept byte by byte, an empty one is no deletion', async () => {
    const store = await open()
    const value = Buffer.from(Array.from({ length: 1 << 20 }, (_, index) => index * 31))
    const after = await store.revision()
    const revision = await write(store, { op: 'put', key: '/large', value }, put('/empty', ''))
    expect((await store.get('/large'))?.value.equals(value)).toBe(true)
    expect((await store.get('/empty'))?.value.length).toBe(0)
    const watch = store.watch({ prefix: '/', after })
    const { events } = await nextBatch(watch)
    expect(events.map(({ key, entry }) => [key, entry?.value.length])).toEqual([
      ['/large', 1 << 20],
      ['/empty', 0],
    ])
    expect(events[0]?.revision).toBe(revision)
    await watch.return?.()
  })
}

/** Registers what must hold for a driver that keeps its data: `reopen` closes a store and opens it again. */
export function registerReopenTests(
  open: StoreFactory,
  reopen: (store: Store) => Promise<Store>,
): void {
  test('a reopened store has its state, its history and its revisions', async () => {
    const store = await open()
    const first = await write(store, put('/a', '1'), put('/b', '1'))
    const second = await write(store, put('/a', '2'), remove('/b'))
    const again = await reopen(store)
    expect(await again.revision()).toBe(second)
    expect(await again.get('/a')).toMatchObject({ createRevision: first, modRevision: second })
    const past = await again.list({ prefix: '/', revision: first })
    expect(past.refused ?? past.entries.map(({ key }) => key)).toEqual(['/a', '/b'])
    expect(await keysUntil(again.watch({ prefix: '/', after: first }), second)).toEqual([
      '/a',
      '/b',
    ])
    expect(await write(again, put('/c', '3'))).toBe(second + 1)
  })

  test('a reopened store still refuses what compaction has forgotten, and counts on', async () => {
    const store = await open()
    await write(store, put('/a', '1'))
    const last = await write(store, remove('/a'))
    await store.compact(last)
    const again = await reopen(store)
    expect(await again.list({ prefix: '/', revision: last - 1 })).toMatchObject({
      refused: 'compacted',
      oldest: last,
    })
    expect(await write(again, put('/a', '2'))).toBe(last + 1)
  })
}

async function writeMore(store: Store, from: number, to: number): Promise<number> {
  let last = 0
  for (let index = from; index < to; index++) last = await write(store, put(`/p/${index}`, 'x'))
  return last
}

/** The keys of all changes up to a revision, in order. */
async function keysUntil(
  watch: AsyncIterator<WatchBatch>,
  last: number,
): Promise<readonly string[]> {
  const keys: string[] = []
  for (let at = 0; at < last; ) {
    const batch = await nextBatch(watch)
    keys.push(...batch.events.map(({ key }) => key))
    at = batch.revision
  }
  await watch.return?.()
  return keys
}
