import { expect, test } from 'vitest'
import { FakeClock } from './fake-clock.ts'

test('timers run in the order of their times, each when its time has come', async () => {
  const clock = new FakeClock(0)
  const reported: string[] = []
  const report = (name: string) => () => void reported.push(`${name} at ${clock.now()}`)
  clock.after(20, report('late'))
  clock.after(10, report('first'))
  clock.after(10, report('second'))
  clock.after(11, report('cancelled'))()
  clock.after(5, () => void clock.after(5, report('third')))
  clock.after(2 ** 40, report('years'))
  expect(clock.pending()).toEqual([5, 10, 10, 20, 2 ** 40])
  await clock.advance(19)
  expect(reported).toEqual(['first at 10', 'second at 10', 'third at 10'])
  await clock.advance(1)
  expect([reported.at(-1), clock.now()]).toEqual(['late at 20', 20])
  await clock.advance(2 ** 40)
  expect([reported.at(-1), clock.pending()]).toEqual([`years at ${2 ** 40}`, []])
})

test('what a timer wakes runs before the next timer', async () => {
  const clock = new FakeClock()
  const reported: string[] = []
  const woken = new Promise<void>((resolve) => void clock.after(1, resolve))
  void woken.then(() => reported.push('woken'))
  clock.after(1, () => reported.push('next'))
  await clock.advance(1)
  expect(reported).toEqual(['woken', 'next'])
})

test('a timer that is late because a call took long does not turn time back', async () => {
  const clock = new FakeClock(0)
  const reported: number[] = []
  clock.after(10, () => reported.push(clock.now()))
  clock.elapse(30)
  expect([reported, clock.pending()]).toEqual([[], [-20]])
  await clock.advance(0)
  expect(reported).toEqual([30])
})

test('a timer that always sets itself again ends the test', async () => {
  const clock = new FakeClock()
  const again = (): void => void clock.after(0, again)
  again()
  await expect(clock.advance(1)).rejects.toThrow('something reschedules itself')
})
