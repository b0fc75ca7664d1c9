import { expect, test } from 'vitest'
import { createMemoryStore } from './memory-store.ts'
import { describeStore } from './testing/conformance.ts'
import { nextBatch, put, remove, write } from './testing/conformance-steps.ts'

describeStore('memory', async () => createMemoryStore())

test('history is bounded by revisions', async () => {
  const store = createMemoryStore({ historyRevisions: 10 })
  for (let index = 0; index < 50; index++) await write(store, put('/a', String(index)))
  expect(await store.list({ prefix: '/', revision: 39 })).toMatchObject({
    refused: 'compacted',
    oldest: 40,
  })
  expect((await store.list({ prefix: '/', revision: 40 })).refused).toBeUndefined()
})

test('history is bounded by bytes, and the present state is never removed', async () => {
  const store = createMemoryStore({ historyBytes: 1000 })
  for (let index = 0; index < 50; index++) await write(store, put(`/${index}`, 'x'.repeat(100)))
  const page = await store.list({ prefix: '/' })
  expect(page.refused ?? page.entries.length).toBe(50)
  expect(await store.list({ prefix: '/', revision: 30 })).toMatchObject({ refused: 'compacted' })
})

test('a watch behind the history ends with `compacted`, a watch that keeps up gets every change', async () => {
  const store = createMemoryStore({ historyRevisions: 5 })
  const after = await store.revision()
  const slow = store.watch({ prefix: '/', after })
  const quick = store.watch({ prefix: '/', after })
  for (let index = 1; index <= 20; index++) {
    await write(store, put('/a', String(index)))
    expect((await nextBatch(quick)).events.map((event) => String(event.entry?.value))).toEqual([
      String(index),
    ])
  }
  expect((await slow.next()).value).toMatchObject({ refused: 'compacted', oldest: 15 })
})

test('compaction removes all versions of deleted keys', async () => {
  const store = createMemoryStore({ historyRevisions: 1 })
  for (let index = 0; index < 20; index++) {
    await write(store, put(`/${index}`, 'x'))
    await write(store, remove(`/${index}`))
  }
  const page = await store.list({ prefix: '/' })
  expect(page.refused ?? page.entries).toEqual([])
})
