import { beforeEach, expect, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { ObservationPeriod } from './runner.ts'

let clock: FakeClock
let observation: ObservationPeriod
let isConnected: boolean
let unwatch: () => void

beforeEach(() => {
  clock = new FakeClock()
  isConnected = true
  observation = new ObservationPeriod(clock, () => isConnected)
  unwatch = observation.watch()
})

/** How long it has been followed without a break. */
const lasts = (): number => clock.now() - observation.since()

test('the period includes the time in which every watch is open', async () => {
  await clock.advance(60_000)
  expect(lasts()).toBe(60_000)
  observation.begin()
  await clock.advance(60_000)
  expect(lasts()).toBe(60_000)
})

test.each([16_000, -16_000])('a leap of the clock by %i ms is a break', async (ms) => {
  await clock.advance(60_000)
  clock.elapse(ms)
  expect(lasts()).toBe(0)
})

test('a short delay of a tick is no break', async () => {
  clock.elapse(14_000)
  expect(lasts()).toBe(14_000)
})

test('a watch that is broken for a while is a break', async () => {
  isConnected = false
  await clock.advance(30_000)
  isConnected = true
  await clock.advance(20_000)
  expect(lasts()).toBe(20_000)
})

test('a stopped observation leaves no timer', async () => {
  await clock.advance(60_000)
  unwatch()
  expect(clock.pending()).toEqual([])
})
