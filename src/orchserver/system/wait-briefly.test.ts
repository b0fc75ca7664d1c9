import { expect, it } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { waitBriefly } from './wait-briefly.ts'

it('waits until the last requests are done, and leaves no timer behind', async () => {
  const clock = new FakeClock()
  const { promise, resolve } = Promise.withResolvers<void>()
  const ended = waitBriefly(clock, promise)
  resolve()
  await ended
  expect(clock.pending()).toEqual([])
})

it('waits three seconds for peers that do not answer', async () => {
  const clock = new FakeClock()
  let isOver = false
  const ended = waitBriefly(clock, Promise.withResolvers<void>().promise).then(() => {
    isOver = true
  })
  await clock.advance(2999)
  expect(isOver).toBe(false)
  await clock.advance(1)
  await ended
})
