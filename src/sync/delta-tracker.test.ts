import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Change, Digest, ObjectKey } from '../modes/mode.ts'
import { DeltaTracker } from './delta-tracker.ts'
import { digestOf } from './testing/scripted-mode.ts'

const key = (text: string) => text as ObjectKey
const [A, B, C] = ['a', 'b', 'c'].map(key) as [ObjectKey, ObjectKey, ObjectKey]
const digest = digestOf
const objects = (given: Readonly<Record<string, string>>) =>
  new Map(Object.entries(given).map(([name, text]) => [key(name), digest(text)]))
const OK = { failed: new Map() }
const refusal = { code: 'NP_TEST', message: 'no' }

function settled(given: Readonly<Record<string, string>>): DeltaTracker {
  const tracker = new DeltaTracker()
  tracker.want(objects(given))
  tracker.saw(objects(given))
  return tracker
}

/** Writes all that is pending, with success. */
function write(tracker: DeltaTracker): Change {
  const change = tracker.pending(0)
  tracker.confirm(change, OK, 0)
  return change
}

describe('the difference', () => {
  test('has wanted objects that are missing, and present ones that are not wanted', () => {
    const tracker = new DeltaTracker()
    tracker.want(objects({ a: '1', b: '1' }))
    tracker.saw(objects({ b: '2', c: '1' }))
    expect(tracker.pending(0)).toEqual({ set: [A, B], unset: [C] })
    expect(tracker.isSettled).toBe(false)
    expect([A, B, C].map((one) => tracker.isWanted(one))).toEqual([true, true, false])
  })

  test('is empty after it was written', () => {
    const tracker = new DeltaTracker()
    tracker.want(objects({ a: '1' }))
    tracker.saw(objects({ c: '1' }))
    write(tracker)
    expect(tracker.pending(0)).toEqual({ set: [], unset: [] })
    expect(tracker.isSettled).toBe(true)
  })

  test('does not have wanted objects that the kernel already holds', () => {
    expect(settled({ a: '1', b: '1' }).pending(0)).toEqual({ set: [], unset: [] })
  })

  test('does not have an object that is no longer wanted before it was written', () => {
    const tracker = settled({ a: '1' })
    tracker.want(objects({ a: '2', b: '1' }))
    tracker.want(new Map([[B, undefined], ...objects({ a: '1' })]))
    expect(tracker.isSettled).toBe(true)
  })
})

describe('saw', () => {
  test('reports what is missing, altered and stray', () => {
    const tracker = settled({ a: '1', b: '1' })
    expect(tracker.saw(objects({ b: '2', c: '1' }))).toEqual([
      { key: A, kind: 'missing', seen: undefined },
      { key: B, kind: 'altered', seen: digest('2') },
      { key: C, kind: 'stray', seen: digest('1') },
    ])
    expect(tracker.pending(0)).toEqual({ set: [A, B], unset: [C] })
  })

  test('returns a difference only once', () => {
    const tracker = settled({ a: '1' })
    tracker.saw(objects({ a: '2' }))
    expect(tracker.saw(objects({ a: '2' }))).toEqual([])
  })

  test('with a scope returns nothing outside of it', () => {
    const tracker = settled({ a: '1', b: '1' })
    expect(tracker.saw(new Map(), [B])).toEqual([{ key: B, kind: 'missing', seen: undefined }])
    expect(tracker.pending(0)).toEqual({ set: [B], unset: [] })
  })
})

describe('a refused object', () => {
  function refused(now: number) {
    const tracker = new DeltaTracker()
    tracker.want(objects({ a: '1', b: '1' }))
    tracker.confirm(tracker.pending(now), { failed: new Map([[A, refusal]]) }, now)
    return tracker
  }

  test('does not delay other objects', () => {
    const tracker = refused(0)
    expect(tracker.pending(0)).toEqual({ set: [], unset: [] })
    expect([...tracker.failures()]).toMatchObject([[A, { refusal, attempts: 1 }]])
    expect(tracker.isSettled).toBe(false)
    expect(tracker.saw(objects({ b: '1' }))).toEqual([])
  })

  test('is tried again after 1 s, 2 s, 4 s and so on, up to five minutes', () => {
    const tracker = refused(0)
    const waits: number[] = []
    for (let now = 0; waits.length < 11; ) {
      const next = tracker.nextRetry() ?? Number.NaN
      waits.push(next - now)
      now = next
      expect(tracker.pending(now - 1).set).toEqual([])
      expect(tracker.pending(now).set).toEqual([A])
      tracker.confirm(tracker.pending(now), { failed: new Map([[A, refusal]]) }, now)
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].map((s) => s * 1_000))
  })

  test('is tried at once when its wanted digest changes', () => {
    const tracker = refused(0)
    tracker.want(objects({ a: '2' }))
    expect(tracker.pending(0).set).toEqual([A])
    expect(tracker.nextRetry()).toBeUndefined()
  })

  test.each([
    ['is no longer wanted', (tracker: DeltaTracker) => tracker.want(new Map([[A, undefined]]))],
    [
      'turns out to stand there',
      (tracker: DeltaTracker) => tracker.saw(objects({ a: '1', b: '1' })),
    ],
    ['is accepted', (tracker: DeltaTracker) => tracker.confirm(tracker.pending(2_000), OK, 2_000)],
  ])('is forgotten when it %s', (_, settle) => {
    const tracker = refused(0)
    settle(tracker)
    expect(tracker.failures().size).toBe(0)
    expect(tracker.nextRetry()).toBeUndefined()
    expect(tracker.isSettled).toBe(true)
  })

  test('that is not wanted is tried again, too', () => {
    const tracker = new DeltaTracker()
    tracker.saw(objects({ c: '1' }))
    tracker.confirm(tracker.pending(0), { failed: new Map([[C, refusal]]) }, 0)
    expect(tracker.pending(0).unset).toEqual([])
    expect(tracker.pending(1_000).unset).toEqual([C])
  })

  test('whose state a refusal changed is known in that state, which is no drift', () => {
    const tracker = settled({ a: '1' })
    tracker.want(objects({ a: '2' }))
    const failed = new Map([[A, refusal]])
    tracker.confirm(tracker.pending(0), { failed, left: objects({ a: 'empty' }) }, 0)
    expect(tracker.saw(objects({ a: 'empty' }))).toEqual([])
    expect(tracker.pending(1_000).set).toEqual([A])
    expect(tracker.failures().size).toBe(1)
  })

  test('that a refusal leaves in its wanted state needs no retry', () => {
    const tracker = settled({ a: '1' })
    tracker.want(objects({ a: '2' }))
    const failed = new Map([[A, refusal]])
    tracker.confirm(tracker.pending(0), { failed, left: objects({ a: '2' }) }, 0)
    expect(tracker.isSettled).toBe(true)
    expect(tracker.nextRetry()).toBeUndefined()
  })

  test('nextRetry returns the earliest retry of several', () => {
    const tracker = refused(0)
    tracker.want(objects({ c: '1' }))
    tracker.confirm(tracker.pending(500), { failed: new Map([[C, refusal]]) }, 500)
    expect(tracker.nextRetry()).toBe(1_000)
  })
})

describe('an object that the kernel prints in its own way', () => {
  /** One repair after which the kernel shows the same as before. */
  function repairInVain(tracker: DeltaTracker) {
    const shown = objects({ a: 'shown' })
    const drift = tracker.saw(shown)
    write(tracker)
    return tracker.sawAfterRepair(drift, shown)
  }

  test('is doubtful after two repairs and normalised after the third', () => {
    const tracker = settled({ a: '1' })
    expect(repairInVain(tracker)).toEqual({ normalised: [], doubtful: [A] })
    expect(repairInVain(tracker)).toEqual({ normalised: [], doubtful: [A] })
    expect(repairInVain(tracker)).toEqual({ normalised: [A], doubtful: [] })
    expect(tracker.isSettled).toBe(true)
    expect(tracker.saw(objects({ a: 'shown' }))).toEqual([])
  })

  test('is still repaired when another process alters it', () => {
    const tracker = settled({ a: '1' })
    for (let repair = 0; repair < 3; repair++) repairInVain(tracker)
    expect(tracker.saw(objects({ a: 'else' }))).toMatchObject([{ kind: 'altered' }])
    expect(write(tracker)).toEqual({ set: [A], unset: [] })
    expect(tracker.saw(objects({ a: 'shown' }))).toEqual([])
  })

  test('is doubtful again when its wanted digest changes', () => {
    const tracker = settled({ a: '1' })
    for (let repair = 0; repair < 3; repair++) repairInVain(tracker)
    tracker.want(objects({ a: '2' }))
    expect(write(tracker).set).toEqual([A])
    expect(tracker.saw(objects({ a: 'shown' }))).toMatchObject([{ kind: 'altered' }])
  })

  test('is neither doubtful nor normalised when its repair succeeded', () => {
    const tracker = settled({ a: '1' })
    const drift = tracker.saw(objects({ a: 'altered' }))
    write(tracker)
    expect(tracker.sawAfterRepair(drift, objects({ a: '1' }))).toEqual({
      normalised: [],
      doubtful: [],
    })
  })

  test('counts only repairs in succession: one that holds in between starts again', () => {
    const tracker = settled({ a: '1' })
    repairInVain(tracker)
    repairInVain(tracker)
    const drift = tracker.saw(objects({ a: 'shown' }))
    write(tracker)
    tracker.sawAfterRepair(drift, objects({ a: '1' }))
    expect(repairInVain(tracker)).toEqual({ normalised: [], doubtful: [A] })
  })

  test.each([
    ['altered again otherwise', objects({ a: 'else' })],
    ['gone', new Map<ObjectKey, Digest>()],
  ])('one that is %s right after its repair is in doubt', (_, seen) => {
    const tracker = settled({ a: '1' })
    const drift = tracker.saw(objects({ a: 'altered' }))
    write(tracker)
    expect(tracker.sawAfterRepair(drift, seen)).toEqual({ normalised: [], doubtful: [A] })
  })
})

const KEYS = [A, B, C]
const someKeys = fc.uniqueArray(fc.constantFrom(...KEYS))
const someDigests = fc.dictionary(fc.constantFrom(...KEYS), fc.constantFrom('1', '2'))
type Step =
  | {
      readonly do: 'want'
      readonly objects: Readonly<Record<string, string>>
      readonly drop: readonly ObjectKey[]
    }
  | {
      readonly do: 'see'
      readonly objects: Readonly<Record<string, string>>
      readonly scope: readonly ObjectKey[] | undefined
    }
  | { readonly do: 'write'; readonly failing: readonly ObjectKey[] }
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('want' as const), objects: someDigests, drop: someKeys }),
  fc.record({
    do: fc.constant('see' as const),
    objects: someDigests,
    scope: fc.option(someKeys, { nil: undefined }),
  }),
  fc.record({ do: fc.constant('write' as const), failing: someKeys }),
)

/** Two plain maps, compared from scratch every time. */
class Naive {
  readonly wanted = new Map<ObjectKey, Digest>()
  readonly actual = new Map<ObjectKey, Digest>()

  get different(): readonly ObjectKey[] {
    return KEYS.filter((one) => this.wanted.get(one) !== this.actual.get(one))
  }
}

function put(map: Map<ObjectKey, Digest>, one: ObjectKey, value: Digest | undefined): void {
  if (value === undefined) map.delete(one)
  else map.set(one, value)
}

function take(tracker: DeltaTracker, naive: Naive, now: number, one: Step): void {
  if (one.do === 'want') {
    const changes = new Map<ObjectKey, Digest | undefined>(objects(one.objects))
    for (const dropped of one.drop) changes.set(dropped, undefined)
    for (const [name, value] of changes) put(naive.wanted, name, value)
    tracker.want(changes)
  } else if (one.do === 'see') {
    const seen = objects(one.objects)
    if (one.scope) for (const name of KEYS) if (!one.scope.includes(name)) seen.delete(name)
    const surprises = (one.scope ?? KEYS).filter(
      (name) => seen.get(name) !== naive.actual.get(name),
    )
    for (const name of one.scope ?? KEYS) put(naive.actual, name, seen.get(name))
    const drift = tracker.saw(seen, one.scope)
    expect(drift.map(({ key: name }) => name).toSorted()).toEqual(surprises.toSorted())
  } else {
    const change = tracker.pending(now)
    const failed = new Map(one.failing.map((name) => [name, refusal]))
    for (const name of change.set)
      if (!failed.has(name)) put(naive.actual, name, naive.wanted.get(name))
    for (const name of change.unset) if (!failed.has(name)) naive.actual.delete(name)
    tracker.confirm(change, { failed }, now)
  }
}

test('after any calls, the difference is that of two maps compared from scratch', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      const tracker = new DeltaTracker()
      const naive = new Naive()
      for (const [index, one] of steps.entries()) {
        take(tracker, naive, index * 1_000_000, one)
        const { set, unset } = tracker.pending(Number.MAX_SAFE_INTEGER)
        expect([...set, ...unset].toSorted()).toEqual(naive.different)
        expect(set.every((name) => naive.wanted.has(name))).toBe(true)
        expect(unset.some((name) => naive.wanted.has(name))).toBe(false)
        expect(tracker.isSettled).toBe(naive.different.length === 0)
        const failing = [...tracker.failures().keys()]
        expect(failing.every((name) => naive.different.includes(name))).toBe(true)
      }
    }),
    { numRuns: 2_000 },
  )
})
