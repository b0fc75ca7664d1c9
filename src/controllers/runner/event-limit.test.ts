import { expect, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { readMeta } from '../objects/object-meta.ts'
import { EventLimit, eventWrite } from './write.ts'

function scene() {
  const clock = new FakeClock()
  const limit = new EventLimit(clock)
  const event = (name: string, reason = 'Made', controller = 'replicaset') => {
    const meta = readMeta({ metadata: { name, namespace: 'shop', uid: name } })
    const content = { controller, type: 'Normal', reason, message: `of ${name}` } as const
    return eventWrite({ apiVersion: 'apps/v1', kind: 'ReplicaSet', meta }, content, clock.now())
  }
  /** How many of 40 Events about an object may be recorded. */
  const taken = (...of: Parameters<typeof event>): number =>
    Array.from({ length: 40 }, () => limit.take(event(...of))).filter(Boolean).length
  return { clock, taken, limit, event }
}

test('25 Events about an object at once, of whatever reason, and one more after each five minutes', async () => {
  const { clock, taken } = scene()
  expect(taken('web')).toBe(25)
  expect(taken('web', 'Deleted')).toBe(0)
  await clock.advance(299_999)
  expect(taken('web')).toBe(0)
  await clock.advance(1)
  expect(taken('web')).toBe(1)
  await clock.advance(2 * 300_000)
  expect(taken('web')).toBe(2)
  await clock.advance(100 * 300_000)
  expect(taken('web')).toBe(25)
})

test('other objects, and other components, have limits of their own', () => {
  const { taken } = scene()
  expect([taken('web'), taken('db'), taken('web', 'Made', 'other')]).toEqual([25, 25, 25])
})

test('of 4,096 objects the Events are counted: the one that was reported on least recently is forgotten', () => {
  const { taken, limit, event } = scene()
  expect([taken('first'), taken('second')]).toEqual([25, 25])
  for (let n = 0; n < 4_094; n++) limit.take(event(`other-${n}`))
  expect(taken('first')).toBe(0)
  expect(limit.take(event('one-more'))).toBe(true)
  expect([taken('first'), taken('second')]).toEqual([0, 25])
})
