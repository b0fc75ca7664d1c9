import fc from 'fast-check'
import { expect, test } from 'vitest'
import { nextBatch, put, remove, type StoreFactory, write } from './conformance-steps.ts'
import type { Operation, Store, WatchBatch } from './store.ts'

/** Registers the part of the contract that concerns watches and compaction. */
export function registerHistoryTests(open: StoreFactory): void {
  registerWatchTests(open)
  registerCompactionTests(open)
  registerProperties(open)
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

  test('no batch ever splits a revision, however long the backlog', async () => {
    const store = await open()
    const after = await store.revision()
    const keys = ['/a', '/b', '/c', '/d', '/e', '/f', '/g']
    let last = after
    for (let round = 0; round < 400; round++) {
      last = await write(store, ...keys.map((key) => put(key, String(round))))
    }
    const watch = store.watch({ prefix: '/', after })
    for (let at = after; at < last; ) {
      const { events, revision } = await nextBatch(watch)
      expect(events.length).toBe((revision - at) * keys.length)
      at = revision
    }
  })

  test('a watch from an uncommitted revision is refused, never served old events', async () => {
    const store = await open()
    const revision = await write(store, put('/a', '1'))
    const { value } = await store.watch({ prefix: '/', after: revision + 5 }).next()
    expect(value).toMatchObject({ refused: 'future', newest: revision })
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

  test('a watch that compaction overtook says so instead of leaving a gap', async () => {
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

interface Step {
  readonly changes: readonly Operation[]
}

const change: fc.Arbitrary<Operation> = fc
  .oneof(
    fc.record({
      key: fc.constantFrom('a', 'b', 'c/d', 'c/e'),
      value: fc.string({ maxLength: 3 }),
    }),
    fc.record({ key: fc.constantFrom('a', 'b', 'c/d', 'c/e') }),
  )
  .map((drawn) => ('value' in drawn ? put(drawn.key, drawn.value) : remove(drawn.key)))

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    changes: fc.uniqueArray(change, { selector: (one) => one.key, minLength: 1, maxLength: 3 }),
  }),
  { maxLength: 25 },
)

function registerProperties(open: StoreFactory): void {
  test('history is linear: every revision lists exactly the state that a model had then', async () => {
    const store = await open()
    let runs = 0
    await fc.assert(
      fc.asyncProperty(steps, async (history) => {
        const prefix = `/${++runs}/`
        const states = await replay(store, prefix, history)
        for (const [revision, state] of states) {
          expect(await stateAt(store, prefix, revision)).toEqual(state)
        }
      }),
      { numRuns: 60 },
    )
  })

  test('a watch from any revision turns the list of that revision into every later list', async () => {
    const store = await open()
    let runs = 0
    await fc.assert(
      fc.asyncProperty(steps, fc.nat(), async (history, pick) => {
        const prefix = `/${++runs}/`
        const early = store.watch({ prefix, after: await store.revision() })
        const states = await replay(store, prefix, history)
        const revisions = [...states.keys()]
        const start = revisions[pick % revisions.length] ?? 0
        await followAll(states, store.watch({ prefix, after: start }), start)
        await followAll(states, early, revisions[0] ?? 0)
      }),
      { numRuns: 60 },
    )
  })
}

type State = ReadonlyMap<string, string>

/** Applies the steps under a prefix and returns the model's state by revision, the initial one first. */
async function replay(
  store: Store,
  prefix: string,
  history: readonly Step[],
): Promise<Map<number, State>> {
  const states = new Map<number, State>([[await store.revision(), new Map()]])
  let state: State = new Map()
  for (const { changes } of history) {
    const next = new Map(state)
    for (const one of changes) {
      if (one.op === 'put') next.set(prefix + one.key, String(one.value))
      else next.delete(prefix + one.key)
    }
    const revision = await write(
      store,
      ...changes.map((one) => ({ ...one, key: prefix + one.key })),
    )
    states.set(revision, next)
    state = next
  }
  return states
}

async function stateAt(store: Store, prefix: string, revision: number): Promise<State> {
  const page = await store.list({ prefix, revision })
  if (page.refused !== undefined) throw new Error(page.refused)
  return new Map(page.entries.map((entry) => [entry.key, String(entry.value)]))
}

/** Reads the watch to the newest state and compares every state on the way. */
async function followAll(
  states: ReadonlyMap<number, State>,
  watch: AsyncIterator<WatchBatch>,
  start: number,
): Promise<void> {
  const state = new Map(states.get(start))
  const newest = Math.max(...states.keys())
  let at = start
  while (at < newest) {
    const batch = await nextBatch(watch)
    for (const event of batch.events) {
      expect(event.revision).toBeGreaterThanOrEqual(at)
      if (event.revision > at) expect(state).toEqual(states.get(at))
      at = event.revision
      if (event.entry === undefined) expect(state.delete(event.key)).toBe(true)
      else state.set(event.key, String(event.entry.value))
    }
    at = batch.revision
    expect(state).toEqual(states.get(at))
  }
  await watch.return?.()
}
