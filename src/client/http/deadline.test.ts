import { expect, test } from 'vitest'
import { sleep } from '../../lib/clock.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { createDeadline } from './deadline.ts'

test('a deadline aborts its signal after its time, and is expired then', async () => {
  const clock = new FakeClock()
  const deadline = createDeadline(clock, 100)
  await clock.advance(99)
  expect(deadline.signal.aborted).toBe(false)
  await clock.advance(1)
  expect([deadline.signal.aborted, deadline.expired()]).toEqual([true, true])
})

test('extend starts the timer anew, and clear removes timer and listener', async () => {
  const clock = new FakeClock()
  const deadline = createDeadline(clock, 100)
  await clock.advance(90)
  deadline.extend(100)
  await clock.advance(90)
  expect(deadline.signal.aborted).toBe(false)
  deadline.clear()
  expect(clock.pending()).toEqual([])
})

test('a deadline aborts with its parent signal, and is not expired then', () => {
  const clock = new FakeClock()
  const parent = new AbortController()
  const deadline = createDeadline(clock, 100, parent.signal)
  parent.abort()
  expect([deadline.signal.aborted, deadline.expired()]).toEqual([true, false])
  expect(createDeadline(clock, 100, parent.signal).signal.aborted).toBe(true)
})

test('a sleep ends after its time, or when its signal is aborted', async () => {
  const clock = new FakeClock()
  const controller = new AbortController()
  const slept = sleep(clock, 100, controller.signal)
  await clock.advance(100)
  await slept
  const woken = sleep(clock, 100, controller.signal)
  controller.abort()
  await woken
  await sleep(clock, 100, controller.signal)
  expect(clock.pending()).toEqual([])
})
