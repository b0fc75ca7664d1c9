import { expect, test } from 'vitest'
import { nextBatch, put, remove, type StoreFactory, write } from './conformance-steps.ts'

/** Registers the part of the contract that concerns watches and compaction. */
export function registerHistoryTests(open: StoreFactory): void {
  registerWatchTests(open)
  registerCompactionTests(open)
}

function registerWatchTests(open: StoreFactory): void {
  test('a watch delivers what follows its revision, past and future, of its prefix only', async () => {
    const store = await open()
    const first = await write(store, put('/p/a', '1'))
    const second = await write(store, put('/p/b', '2'), put('/q/x', '-'), remove('/p/a'))
    const watch = store.watch({ prefix: '/p/', after: first })
    const seen = await nextBatch(watch)
    expect(
      seen.events.map((event) => [event.key, event.revision, String(event.entry?.value)]),
    ).toEqual([
      ['/p/b', second, '2'],
      ['/p/a', second, 'undefined'],
    ])
    const pending = nextBatch(watch)
    const third = await write(store, put('/p/c', '3'))
    expect((await pending).events.map((event) => [event.key, event.revision])).toEqual([
      ['/p/c', third],
    ])
    await watch.return?.()
  })

  test("a watch of any prefix reaches the store's revision, while other clients write", async () => {
    const store = await open()
    const after = await store.revision()
    const watch = store.watch({ prefix: '/p/', after })
    await write(store, put('/q', '1'))
    await write(store, remove('/q'))
    for (let at = after; at < (await store.revision()); ) {
      const { events, revision } = await nextBatch(watch)
      expect([events, revision > at]).toEqual([[], true])
      at = revision
    }
    await watch.return?.()
  })

  test('no batch ever splits a revision, however long the backlog', async () => {
    const store = await open()
    const after = await store.revision()
    const keys = ['/a', '/b', '/c', '/d', '/e', '/f', '/g']
    const rounds = Array.from({ length: 400 }, (_, round) =>
      write(store, ...keys.map((key) => put(key, String(round)))),
    )
    const last = Math.max(...(await Promise.all(rounds)))
    const watch = store.watch({ prefix: '/', after })
    const seen = new Set<number>()
    for (let at = after; at < last; ) {
      const { events, revision } = await nextBatch(watch)
      for (const [one, changes] of Map.groupBy(events, (event) => event.revision)) {
        expect([one, changes.length]).toEqual([one, keys.length])
        seen.add(one)
      }
      at = revision
    }
    expect(seen.size).toBe(400)
  })

  test('a watch from an uncommitted revision is refused, never served old events', async () => {
    const store = await open()
    const revision = await write(store, put('/a', '1'))
    const { value } = await store.watch({ prefix: '/', after: revision + 5 }).next()
    expect(value).toMatchObject({ refused: 'future', newest: revision })
  })

  test('a watch that is read again before it has answered gives each batch once', async () => {
    const store = await open()
    const watch = store.watch({ prefix: '/', after: await store.revision() })
    const [first, second] = [nextBatch(watch), nextBatch(watch)]
    const rest = [watch.next(), watch.next()]
    await write(store, put('/a', '1'))
    expect((await first).events.map(({ key }) => key)).toEqual(['/a'])
    await write(store, put('/b', '1'))
    expect((await second).events.map(({ key }) => key)).toEqual(['/b'])
    await watch.return?.()
    expect((await Promise.all(rest)).map(({ done }) => done)).toEqual([true, true])
  })

  test('abort, return and close end a waiting watch', async () => {
    const store = await open()
    const after = await store.revision()
    const abort = new AbortController()
    const aborted = store.watch({ prefix: '/', after, signal: abort.signal }).next()
    abort.abort()
    expect(await aborted).toEqual({ done: true, value: undefined })
    const returned = store.watch({ prefix: '/', after })
    const waiting = returned.next()
    await returned.return?.()
    expect((await waiting).done).toBe(true)
    const closed = store.watch({ prefix: '/', after }).next()
    await store.close()
    expect((await closed).done).toBe(true)
  })
}

function registerCompactionTests(open: StoreFactory): void {
  test('compaction forgets older states and keeps the present one', async () => {
    const store = await open()
    const first = await write(store, put('/a', '1'), put('/b', '1'))
    const second = await write(store, put('/a', '2'), remove('/b'))
    await write(store, put('/a', '3'))
    await store.compact(second)
    const page = await store.list({ prefix: '/', revision: second })
    expect(
      page.refused ?? page.entries.map((entry) => `${entry.key}=${String(entry.value)}`),
    ).toEqual(['/a=2'])
    expect(await store.list({ prefix: '/', revision: first })).toMatchObject({
      refused: 'compacted',
      oldest: second,
    })
    expect(String((await store.get('/a'))?.value)).toBe('3')
  })

  test('a watch that compaction overtook reports it instead of leaving a gap', async () => {
    const store = await open()
    const first = await write(store, put('/a', '1'))
    const watch = store.watch({ prefix: '/', after: first })
    await write(store, put('/a', '2'))
    const last = await write(store, put('/a', '3'))
    await store.compact(last)
    const { value } = await watch.next()
    expect(value).toMatchObject({ refused: 'compacted', oldest: last })
    expect((await watch.next()).done).toBe(true)
  })
}
