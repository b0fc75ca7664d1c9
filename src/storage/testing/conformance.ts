import { afterEach, describe, expect, test } from 'vitest'
import type { Store, StoredEntry } from '../store.ts'
import { registerHistoryTests } from './conformance-history.ts'
import { registerLoadTests, registerReopenTests } from './conformance-load.ts'
import { registerProperties } from './conformance-properties.ts'
import { put, remove, type StoreFactory, write } from './conformance-steps.ts'

function show(entry: StoredEntry | undefined) {
  return entry && [entry.key, String(entry.value), entry.createRevision, entry.modRevision]
}

/**
 * Registers the contract of `Store` for one driver. `reopen` closes a store and
 * opens what it has kept; a driver without it keeps nothing.
 */
export function describeStore(
  driver: string,
  create: StoreFactory,
  reopen?: (store: Store) => Promise<Store>,
): void {
  describe(`${driver} store`, () => {
    const stores: Store[] = []
    const kept = (store: Store): Store => {
      stores.push(store)
      return store
    }
    const open = async (): Promise<Store> => kept(await create())
    afterEach(async () => {
      for (const store of stores.splice(0)) await store.close()
    })
    registerTransactionTests(open)
    registerListTests(open)
    registerHistoryTests(open)
    registerProperties(open)
    registerLoadTests(open)
    if (reopen !== undefined) registerReopenTests(open, async (store) => kept(await reopen(store)))
  })
}

function registerTransactionTests(open: StoreFactory): void {
  test('each changing transaction takes a later revision and shares it among its keys', async () => {
    const store = await open()
    const before = await store.revision()
    const revision = await write(store, put('/a', '1'), put('/b', '2'))
    expect(revision).toBeGreaterThan(before)
    expect(show(await store.get('/a'))).toEqual(['/a', '1', revision, revision])
    expect(show(await store.get('/b'))).toEqual(['/b', '2', revision, revision])
    const second = await write(store, put('/a', '3'))
    expect(show(await store.get('/a'))).toEqual(['/a', '3', revision, second])
    expect(await store.revision()).toBe(second)
  })

  test('a transaction without effect takes no revision', async () => {
    const store = await open()
    const revision = await write(store, put('/a', '1'))
    expect(await write(store, remove('/missing'))).toBe(revision)
    expect(await store.revision()).toBe(revision)
  })

  test('a failed compare changes nothing and shows what is there', async () => {
    const store = await open()
    const revision = await write(store, put('/a', '1'))
    const result = await store.txn({
      compare: [
        { key: '/a', modRevision: 0 },
        { key: '/b', modRevision: 0 },
      ],
      operations: [put('/b', '2'), remove('/a')],
    })
    expect(result.committed).toBe(false)
    expect(result.committed ? [] : result.current.map(show)).toEqual([
      ['/a', '1', revision, revision],
      undefined,
    ])
    expect(await store.get('/b')).toBeUndefined()
    expect(await store.revision()).toBe(revision)
  })

  test('compare lets exactly the expected version through', async () => {
    const store = await open()
    const first = await write(store, put('/a', '1'))
    const swap = (modRevision: number, value: string) =>
      store.txn({ compare: [{ key: '/a', modRevision }], operations: [put('/a', value)] })
    const [one, two] = await Promise.all([swap(first, 'x'), swap(first, 'y')])
    expect([one.committed, two.committed].filter(Boolean)).toHaveLength(1)
    expect((await swap(0, 'z')).committed).toBe(false)
    await write(store, remove('/a'))
    expect((await swap(0, 'again')).committed).toBe(true)
    const entry = await store.get('/a')
    expect(entry?.createRevision).toBe(entry?.modRevision)
  })

  test('two operations on one key are refused as a bug', async () => {
    const store = await open()
    await expect(write(store, put('/a', '1'), remove('/a'))).rejects.toMatchObject({
      code: 'NP_STORAGE_DUPLICATE_KEY',
    })
  })
}

function registerListTests(open: StoreFactory): void {
  test('lists a prefix in key order and nothing beside it', async () => {
    const store = await open()
    await write(store, put('/p/b', '2'), put('/q', 'x'), put('/p/a', '1'), put('/p', 'x'))
    const page = await store.list({ prefix: '/p/' })
    expect(page.refused ?? page.entries.map((entry) => entry.key)).toEqual(['/p/a', '/p/b'])
  })

  test('pages pinned to a revision show one state, whatever is written between them', async () => {
    const store = await open()
    const names = Array.from({ length: 10 }, (_, index) => `/p/${index}`)
    const revision = await write(store, ...names.map((name) => put(name, 'old')))
    const seen: string[] = []
    let after = ''
    for (let remaining = 1; remaining > 0; ) {
      const page = await store.list({ prefix: '/p/', after, limit: 3, revision })
      if (page.refused !== undefined) throw new Error(page.refused)
      expect(page.revision).toBe(revision)
      expect(page.remaining).toBe(10 - seen.length - page.entries.length)
      for (const entry of page.entries) seen.push(`${entry.key}=${String(entry.value)}`)
      after = page.entries.at(-1)?.key ?? ''
      remaining = page.remaining
      await write(store, remove(names[seen.length] ?? '/none'), put(`/p/5${seen.length}`, 'x'))
      await write(store, put('/p/9', 'new'))
    }
    expect(seen).toEqual(names.map((name) => `${name}=old`))
  })

  test('a revision that is not committed yet is refused as future', async () => {
    const store = await open()
    const revision = await write(store, put('/a', '1'))
    expect(await store.list({ prefix: '/', revision: revision + 1 })).toMatchObject({
      refused: 'future',
      newest: revision,
    })
  })
}
