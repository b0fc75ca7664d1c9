import { expect, test } from 'vitest'
import type { EntryId } from '../../forwarding/entry.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import type { Digest, ObjectKey } from '../../modes/mode.ts'
import { DeltaTracker } from '../../sync/delta-tracker.ts'
import { Completion } from './engine.ts'

const key = (name: string) => name as ObjectKey
const REFUSED = { code: 'NP_NO', message: 'no' }

/** Objects whose name begins with `shared` have no owner. */
function rig(...wanted: readonly string[]) {
  const clock = new FakeClock()
  const tracker = new DeltaTracker()
  tracker.want(new Map(wanted.map((name) => [key(name), 1 as Digest])))
  const reported: number[] = []
  const completion = new Completion({
    tracker,
    clock,
    program: {
      ownersOf: (object) => (object.startsWith('shared') ? [] : [object as string as EntryId]),
    },
    onComplete: (refused) => reported.push(refused),
  })
  const run = (...refused: readonly string[]) => {
    const change = tracker.pending(Number.POSITIVE_INFINITY)
    const failed = new Map(refused.map((name) => [key(name), REFUSED]))
    tracker.confirm(change, { failed }, clock.now())
    completion.ran()
  }
  return { clock, completion, reported, run }
}

test('it is complete, once, when nothing is left to do', async () => {
  const { reported, run, clock } = rig('a', 'b')
  run('b')
  expect(reported).toEqual([])
  run()
  run()
  expect(reported).toEqual([0])
  await clock.advance(120_000)
  expect(reported).toEqual([0])
})

test('single Services that are refused are waited for, but not for ever', async () => {
  const { reported, run, clock } = rig('a', 'b')
  run('b')
  await clock.advance(59_999)
  expect(reported).toEqual([])
  await clock.advance(1)
  expect(reported).toEqual([1])
})

test('what all share must stand', async () => {
  const { reported, run, clock } = rig('a', 'shared')
  run('a', 'shared')
  await clock.advance(600_000)
  run('a', 'shared')
  expect(reported).toEqual([])
  run('a')
  expect(reported).toEqual([1])
})

test('after it is cancelled nothing is reported', async () => {
  const { reported, run, clock, completion } = rig('a')
  run('a')
  completion.cancel()
  await clock.advance(60_000)
  run()
  expect([reported, clock.pending()]).toEqual([[], []])
})
