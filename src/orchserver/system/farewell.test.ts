import { expect, it } from 'vitest'
import { FakeClock } from '../../lib/fake-clock.ts'
import { farewell } from './farewell.ts'

it('waits until everything was said, and leaves no timer behind', async () => {
  const clock = new FakeClock()
  const { promise, resolve } = Promise.withResolvers<void>()
  const ended = farewell(clock, promise)
  resolve()
  await ended
  expect(clock.pending()).toEqual([])
})

it('waits three seconds for others who do not listen', async () => {
  const clock = new FakeClock()
  let isOver = false
  const ended = farewell(clock, Promise.withResolvers<void>().promise).then(() => {
    isOver = true
  })
  await clock.advance(2999)
  expect(isOver).toBe(false)
  await clock.advance(1)
  await ended
})
