import { expect, it } from 'vitest'
import { regularly } from './regularly.ts'
import { FakeClock } from './testing/fake-clock.ts'

it('waits for a round to end before it plans the next one, also for one that fails', async () => {
  const clock = new FakeClock()
  const reported: unknown[] = []
  const slow = Promise.withResolvers<void>()
  const rounds = [() => Promise.reject(new Error('no luck')), () => slow.promise]
  const round = async (): Promise<void> => {
    reported.push('round')
    await rounds.shift()?.()
  }
  const stop = regularly({
    clock,
    everyMs: 10,
    round,
    onError: (error) => reported.push(String(error)),
  })
  await clock.advance(9)
  expect(reported).toEqual([])
  await clock.advance(1)
  expect(reported).toEqual(['round', 'Error: no luck'])
  await clock.advance(100)
  expect(reported).toHaveLength(3)
  slow.resolve()
  await clock.advance(10)
  expect(reported).toHaveLength(4)
  stop()
  expect(clock.pending()).toEqual([])
})

it('plans nothing after it was ended in the middle of a round', async () => {
  const clock = new FakeClock()
  const open = Promise.withResolvers<void>()
  const stop = regularly({
    clock,
    everyMs: 10,
    round: () => open.promise,
    onError: () => undefined,
  })
  await clock.advance(10)
  stop()
  open.resolve()
  await clock.advance(0)
  expect(clock.pending()).toEqual([])
})
