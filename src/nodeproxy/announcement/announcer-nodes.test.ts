import { expect, test } from 'vitest'
import type { ApiResult } from '../../client/http/failure.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { AnnouncerNodes, type OwnState } from './announcer-nodes.ts'

test('while a publication is under way, further changes are published together, once it has ended', async () => {
  const clock = new FakeClock()
  const ends: ((result: ApiResult<unknown>) => void)[] = []
  const started = () => new Promise<ApiResult<unknown>>((resolve) => void ends.push(resolve))
  const own = (addresses: readonly string[]) =>
    ({ isExcluded: false, isReady: true, loadBalancerClass: undefined, addresses }) as OwnState
  let state = own([])
  const nodes = new AnnouncerNodes({
    leases: {
      create: started,
      patch: started,
      remove: started,
      follow: () => ({
        run: async () => 'aborted',
        state: () => ({ connected: true }) as never,
        keys: () => [],
      }),
    },
    clock,
    monotonic: () => clock.now(),
    nodeName: 'n1',
    own: () => state,
    onChange: () => undefined,
  })
  nodes.start()
  await clock.advance(0)
  for (const ip of ['192.0.2.1', '192.0.2.2', '192.0.2.3']) {
    state = own([ip])
    nodes.publish()
  }
  expect(ends).toHaveLength(1)
  ends[0]!({ ok: true, value: {} })
  await clock.advance(0)
  expect(ends).toHaveLength(2)
  ends[1]!({ ok: true, value: {} })
  await clock.advance(0)
  expect(ends).toHaveLength(2)
  await nodes.close()
})
