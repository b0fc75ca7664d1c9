import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Store } from '../store.ts'
import { describeStore } from '../testing/conformance.ts'
import { nextBatch, put, write } from '../testing/conformance-steps.ts'
import { newStore } from './testing/fixtures.ts'

const directories = new WeakMap<Store, string | undefined>()

async function open(directory?: string): Promise<Store> {
  const store = await newStore(directory === undefined ? {} : { directory })
  directories.set(store, store.directory)
  return store
}

describeStore(
  'embedded',
  () => open(),
  async (store) => {
    await store.close()
    return await open(directories.get(store))
  },
)

test('a directory is held by one store at a time', async () => {
  const store = await newStore()
  const { directory } = store
  await expect(newStore({ directory })).rejects.toMatchObject({ code: 'NP_STORAGE_LOCKED' })
  await store.close()
  await expect(newStore({ directory })).resolves.toBeDefined()
})

test('directory and files are readable for their owner only', async () => {
  const { directory } = await newStore()
  for (const file of ['store.sqlite', 'store.sqlite-wal', 'store.sqlite-shm', 'lock']) {
    expect(statSync(join(directory, file)).mode & 0o077).toBe(0)
  }
})

test('history is bounded by revisions', async () => {
  const store = await newStore({ historyRevisions: 16 })
  for (let index = 0; index < 50; index++) await write(store, put('/a', String(index)))
  expect(await store.list({ prefix: '/', revision: 30 })).toMatchObject({ refused: 'compacted' })
  expect((await store.list({ prefix: '/', revision: 34 })).refused).toBeUndefined()
})

test('history is bounded by bytes, and the present state is never removed', async () => {
  const store = await newStore({ historyBytes: 1000 })
  for (let index = 0; index < 50; index++) await write(store, put(`/${index}`, 'x'.repeat(100)))
  const page = await store.list({ prefix: '/' })
  expect(page.refused ?? page.entries.length).toBe(50)
  expect(await store.list({ prefix: '/', revision: 30 })).toMatchObject({ refused: 'compacted' })
})

test('a watch behind the history ends with `compacted`, a watch that keeps up gets every change', async () => {
  const store = await newStore({ historyRevisions: 4 })
  const slow = store.watch({ prefix: '/', after: 0 })
  const quick = store.watch({ prefix: '/', after: 0 })
  for (let index = 1; index <= 20; index++) {
    await write(store, put('/a', String(index)))
    const { events } = await nextBatch(quick)
    expect(events.map(({ entry }) => String(entry?.value))).toEqual([String(index)])
  }
  expect((await slow.next()).value).toMatchObject({ refused: 'compacted' })
})

test('close commits the accepted transactions and rejects later ones', async () => {
  const store = await newStore()
  const accepted = write(store, put('/a', '1'))
  await store.close()
  expect(await accepted).toBe(1)
  const closed = { code: 'NP_STORAGE_CLOSED' }
  await expect(write(store, put('/a', '2'))).rejects.toMatchObject(closed)
  await expect(store.get('/a')).rejects.toMatchObject(closed)
})

test.each(['store.sqlite', 'store.sqlite-wal'])(
  'without %s nothing is acknowledged any more, and nothing answered',
  async (name) => {
    const store = await newStore()
    await write(store, put('/a', '1'))
    const watch = store.watch({ prefix: '/', after: 1 }).next()
    rmSync(join(store.directory, name))
    const message = expect.stringContaining(`${join(store.directory, name)}" was deleted`)
    const gone = { code: 'NP_STORAGE_GONE', message }
    await expect(write(store, put('/a', '2'))).rejects.toMatchObject(gone)
    await expect(store.get('/a')).rejects.toMatchObject(gone)
    await expect(watch).rejects.toMatchObject(gone)
  },
)

test('watches of one prefix at one revision share their events', async () => {
  const store = await newStore()
  const watches = ['/a/', '/a/', '/b/'].map((prefix) => store.watch({ prefix, after: 0 }))
  const batches = watches.map((watch) => nextBatch(watch))
  await write(store, put('/a/1', 'x'), put('/b/1', 'x'))
  const [first, second, other] = await Promise.all(batches)
  expect(second?.events[0]).toBe(first?.events[0])
  expect(other?.events.map(({ key }) => key)).toEqual(['/b/1'])
})

test('a batch is bounded in bytes, and no event is lost between batches', async () => {
  const store = await newStore()
  for (let index = 0; index < 12; index++) await write(store, put('/a', 'x'.repeat(1 << 20)))
  const watch = store.watch({ prefix: '/', after: 0 })
  const sizes: number[] = []
  for (let at = 0; at < 12; ) {
    const batch = await nextBatch(watch)
    sizes.push(batch.events.length)
    at = batch.revision
  }
  expect(sizes).toEqual([4, 4, 4])
})
