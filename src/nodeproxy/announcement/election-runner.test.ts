import { expect, test } from 'vitest'
import { FAST_TIMING } from '../../announcement/election-timing.ts'
import { statusFailure } from '../../client/http/failure.ts'
import type { IpAddress } from '../../lib/ip.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { ElectionRunner } from './election-runner.ts'

const IP = '192.0.2.50' as IpAddress

test('a Lease that cannot be created, because its namespace is absent, is tried again only later', async () => {
  const clock = new FakeClock()
  const requests: string[] = []
  const refused = (verb: string) => () => {
    requests.push(verb)
    // Without a pause they would never end.
    if (requests.length > 100) return new Promise<never>(() => undefined)
    return Promise.resolve({ ok: false, failure: statusFailure(404, {}) } as const)
  }
  const outcomes: string[] = []
  const runner = new ElectionRunner({
    leases: {
      create: refused('create'),
      get: refused('get'),
      patch: refused('patch'),
      remove: refused('remove'),
      follow: ({ onListed }) => ({
        async run(signal) {
          await Promise.resolve()
          onListed()
          await new Promise((resolve) => signal.addEventListener('abort', resolve))
          return 'aborted'
        },
        state: () => ({ connected: true }) as never,
        keys: () => [],
      }),
    },
    links: { announce: async () => undefined },
    timing: FAST_TIMING,
    clock,
    monotonic: () => clock.now(),
    nodeName: 'n1',
    onWrite: (reason, outcome) => outcomes.push(`${reason} ${outcome}`),
    onAnswers: async () => undefined,
  })
  runner.plan(new Map([[IP, ['n1']]]))
  await clock.advance(0)
  expect([requests, outcomes]).toEqual([['create'], ['create failed']])
  await clock.advance(FAST_TIMING.retryInterval)
  expect(requests).toEqual(['create', 'create'])
  await runner.close()
})
