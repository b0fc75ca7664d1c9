import { expect, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { Heartbeats } from './object-cache.ts'

test('a heartbeat counts when it changes or is new after the first list, and is forgotten with its object', () => {
  const clock = new FakeClock()
  const heartbeats = new Heartbeats<string>((text) => text, clock)
  const heard: unknown[] = []
  const change = (before: string | undefined, after: string | undefined): void => {
    clock.elapse(1)
    heartbeats.changed('a', before, after)
    heard.push(heartbeats.heardAt('a'))
  }
  const began = clock.now()
  change(undefined, 'x')
  heartbeats.listed()
  change('x', 'x')
  change('x', 'y')
  change('y', 'y')
  change('y', undefined)
  change(undefined, 'y')
  change('y', '')
  expect(heard).toEqual([
    undefined,
    undefined,
    began + 3,
    began + 3,
    undefined,
    began + 6,
    undefined,
  ])
})
