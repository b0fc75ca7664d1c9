import { expect, test } from 'vitest'
import { ChangeHistory } from '../../inspection/change-history.ts'
import { endpointsEvent, rig, serviceEvents } from '../../sync/testing/rig.ts'
import { recordChanges } from './sync-observer.ts'

test('a change is passed on at the end of its own run, though no other follows', async () => {
  const history = new ChangeHistory()
  const { loop, clock } = rig({
    observe: (observer, time) => recordChanges(observer, history, time),
  })
  const seen: string[] = []
  history.watch(({ service, objects }) => seen.push(`${service} ${objects}`))
  loop.enqueue(serviceEvents('s1'))
  loop.setSynced()
  await clock.advance(1_000)
  expect(seen).toEqual(['ns/s1 1'])
  loop.enqueue([endpointsEvent('s1', '10.0.0.2')])
  await clock.advance(1_000)
  expect(seen).toEqual(['ns/s1 1', 'ns/s1 1'])
  await clock.advance(10_000)
  loop.enqueue(serviceEvents('s2'))
  await clock.advance(1_000)
  expect(seen.slice(2)).toEqual(['ns/s2 1'])
  // No time passes in a run of this test, so none is between two runs either.
  expect(history.latency()).toEqual({ count: 3, p50Ms: 0, p99Ms: 0 })
})

test('what a run compiled that failed is passed on by the next one', async () => {
  const history = new ChangeHistory()
  const { loop, clock, mode } = rig({
    observe: (observer, time) => recordChanges(observer, history, time),
  })
  const seen: string[] = []
  history.watch(({ service }) => seen.push(service))
  mode.applyErrors.push(new Error('no netlink'))
  loop.enqueue(serviceEvents('s1'))
  loop.setSynced()
  await clock.advance(0)
  expect(seen).toEqual([])
  await clock.advance(60_000)
  expect(seen).toEqual(['ns/s1'])
})
