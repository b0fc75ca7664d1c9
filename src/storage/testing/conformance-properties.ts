import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Operation, Store, WatchBatch } from '../store.ts'
import { nextBatch, put, remove, type StoreFactory, write } from './conformance-steps.ts'

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

/** Registers the part of the contract that compares random histories with a model. */
export function registerProperties(open: StoreFactory): void {
  test('history is linear: every revision lists exactly the state that a model had then', async () => {
    const store = await open()
    await forHistories(async ({ prefix, history }) => {
      for (const [revision, state] of await replay(store, prefix, history)) {
        expect(await stateAt(store, prefix, revision)).toEqual(state)
      }
    })
  })

  test('a watch from any revision turns the list of that revision into every later list', async () => {
    expect.hasAssertions()
    const store = await open()
    await forHistories(async ({ prefix, history, pick }) => {
      const early = store.watch({ prefix, after: await store.revision() })
      const states = await replay(store, prefix, history)
      const revisions = [...states.keys()]
      const start = revisions[pick % revisions.length] ?? 0
      const late = store.watch({ prefix, after: start })
      await Promise.all([followAll(states, late, start), followAll(states, early, revisions[0]!)])
    })
  })
}

interface Case {
  readonly prefix: string
  readonly history: readonly Step[]
  readonly pick: number
}

/** Checks random histories, several at a time, each under a prefix of its own. */
async function forHistories(check: (one: Case) => Promise<void>): Promise<void> {
  let prefixes = 0
  const together = fc.array(fc.tuple(steps, fc.nat()), { minLength: 8, maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(together, async (drawn) => {
      const cases = drawn.map(([history, pick]) => ({ prefix: `/${++prefixes}/`, history, pick }))
      await Promise.all(cases.map(check))
    }),
    { numRuns: 8 },
  )
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
      if (event.revision > at) expect(state).toEqual(modelAt(states, at))
      at = event.revision
      if (event.entry === undefined) expect(state.delete(event.key)).toBe(true)
      else state.set(event.key, String(event.entry.value))
    }
    at = batch.revision
    expect(state).toEqual(modelAt(states, at))
  }
  await watch.return?.()
}

/** The model's state at a revision, which may be one of others' changes. */
function modelAt(states: ReadonlyMap<number, State>, revision: number): State | undefined {
  return states.get(Math.max(...[...states.keys()].filter((one) => one <= revision)))
}
