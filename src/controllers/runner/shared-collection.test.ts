import { expect, test } from 'vitest'
import { readEndpoints } from '../objects/endpoints-object.ts'
import { rawEndpoints } from '../testing/fixtures.ts'
import type { ObjectFollower } from './object-follower.ts'
import { SharedCollection } from './shared-collection.ts'

test('a list of a restored server counts for more than a write from before', () => {
  const told: unknown[] = []
  const shared = new SharedCollection('endpoints', ({ after }) => told.push(after?.meta.version))
  const object = (resourceVersion: string) => rawEndpoints([], { resourceVersion })
  shared.learned(object('9'))
  const follower: ObjectFollower = {
    async follow(_, handlers) {
      handlers.changed([{ key: 'shop/web', value: readEndpoints(object('3')) as never }])
      handlers.listed()
    },
  }
  let listed = 0
  void shared.follow(follower, () => listed++, new AbortController().signal)
  expect([told, listed]).toEqual([['3'], 1])
  expect(shared.cache.get('shop/web')?.meta.version).toBe('3')
})
