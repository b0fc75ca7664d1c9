import { expect, it } from 'vitest'
import { FakeClock } from '../lib/testing/fake-clock.ts'
import { compactRegularly } from './regular-compaction.ts'

const ROUND = 300_000

it('forgets what was there a round ago, also after a round that failed', async () => {
  const clock = new FakeClock()
  const calls: unknown[] = []
  const revisions = [10, 20, new Error('no etcd'), 40]
  const stop = compactRegularly({
    store: {
      revision: async () => {
        const next = revisions.shift()
        if (next instanceof Error) throw next
        return next ?? 50
      },
      compact: async (revision) => void calls.push(revision),
    },
    clock,
    onError: (error) => calls.push(String(error)),
  })
  for (let round = 0; round < 4; round++) await clock.advance(ROUND)
  expect(calls).toEqual([10, 'Error: no etcd', 20])
  stop()
  expect(clock.pending()).toEqual([])
})
