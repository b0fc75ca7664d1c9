import { expect, test } from 'vitest'
import { Throttle } from './regularly.ts'
import { FakeClock } from './testing/fake-clock.ts'

function afterRun(minPeriodMs: number, tookMs: number) {
  const clock = new FakeClock()
  const throttle = new Throttle(clock, minPeriodMs)
  throttle.started()
  clock.elapse(tookMs)
  throttle.ended()
  return { clock, throttle }
}

test('the first run may start at once', () => {
  expect(new Throttle(new FakeClock(), 1_000).delay()).toBe(0)
})

test('the next run waits for the rest of the period', () => {
  expect(afterRun(1_000, 100).throttle.delay()).toBe(900)
})

test('after a run longer than the period the loop rests for half of what it took', () => {
  expect(afterRun(1_000, 4_000).throttle.delay()).toBe(2_000)
})

test('a period of 0 still leaves the machine a third of the time', () => {
  expect(afterRun(0, 30).throttle.delay()).toBe(15)
})

test('a run that comes later than the period may start at once', () => {
  const { clock, throttle } = afterRun(1_000, 100)
  clock.elapse(899)
  expect(throttle.delay()).toBe(1)
  clock.elapse(5_000)
  expect(throttle.delay()).toBe(0)
})

test('a run that was started and has not ended does not change the delay', () => {
  const { clock, throttle } = afterRun(1_000, 0)
  clock.elapse(1_000)
  throttle.started()
  expect(throttle.delay()).toBe(0)
})
