import { expect, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import type { ObjectChange } from '../cache/object-cache.ts'
import { type EndpointsObject, readEndpoints } from '../objects/plain-objects.ts'
import { rawEndpoints } from '../testing/fixtures.ts'
import type { ObjectFollower } from './object-follower.ts'
import { SharedCollection } from './runner.ts'

test('a list of a restored server replaces the result of a write from before', () => {
  const records: unknown[] = []
  const onChange = (change: ObjectChange<EndpointsObject>) =>
    records.push(change.after?.meta.version)
  const shared = new SharedCollection('endpoints', onChange, new FakeClock())
  const object = (resourceVersion: string) => rawEndpoints([], { resourceVersion })
  const follower: ObjectFollower = {
    isConnected: () => true,
    async follow(_, handlers) {
      handlers.listed('7')
      shared.learned(object('9'))
      handlers.changed([{ key: 'shop/web', value: readEndpoints(object('3')) as never }])
      handlers.listed('3')
    },
  }
  let listed = 0
  void shared.follow(follower, () => listed++, new AbortController().signal)
  expect([records, listed]).toEqual([['3'], 2])
  expect(shared.cache.get('shop/web')?.meta.version).toBe('3')
})
