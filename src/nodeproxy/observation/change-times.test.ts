import { expect, test } from 'vitest'
import { ChangeTimes } from './change-times.ts'

const pending = (times: ChangeTimes) => [times.pending('service'), times.pending('endpoints')]

test('a run accounts for what came before it', () => {
  const times = new ChangeTimes()
  times.note('endpoints', 10)
  times.note('service')
  times.queued()
  expect(pending(times)).toEqual([1, 1])
  times.begun()
  times.note('endpoints', 20)
  times.queued()
  expect(pending(times)).toEqual([1, 2])
  expect(times.written()).toEqual([10])
  expect(pending(times)).toEqual([0, 1])
  times.begun()
  expect(times.written()).toEqual([20])
  expect(pending(times)).toEqual([0, 0])
})

test('what a run could not write waits for the next', () => {
  const times = new ChangeTimes()
  times.note('endpoints', 10)
  times.queued()
  times.begun()
  times.note('endpoints', 20)
  times.queued()
  times.begun()
  expect(pending(times)).toEqual([0, 2])
  expect(times.written()).toEqual([10, 20])
})

test('a change that leaves nothing to do is forgotten, whenever the next run is', () => {
  const times = new ChangeTimes()
  times.note('endpoints', 10)
  expect(pending(times)).toEqual([0, 0])
  times.begun()
  times.note('endpoints', 999)
  times.queued()
  times.begun()
  expect(times.written()).toEqual([999])
})

test('memory is bounded, however long the kernel refuses', () => {
  const times = new ChangeTimes()
  for (let round = 0; round < 3; round++) {
    for (let n = 0; n < 20_000; n++) times.note('endpoints', n)
    times.queued()
    times.begun()
  }
  expect(times.written()).toHaveLength(10_000)
})
