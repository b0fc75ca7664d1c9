import { expect, test } from 'vitest'
import type { NeighbourResponder } from '../../kernel/neighbours/neighbour-responder.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { LinkResponders } from './link-responders.ts'

test('other addresses are not in force before a responder that is being closed has stopped', async () => {
  const clock = new FakeClock()
  const closed = Promise.withResolvers<void>()
  const responder: NeighbourResponder = {
    announce: async () => undefined,
    counts: () => ({ answered: 0, announced: 0, ignored: 0, unsent: 0, conflicting: 0 }),
    close: () => closed.promise,
  }
  const links = new LinkResponders({
    clock,
    openResponder: async () => responder,
    onConflict: () => undefined,
    onLinks: () => undefined,
  })
  await links.use(['eth0'])
  await clock.advance(0)
  const reported: string[] = []
  const used = links.use([]).then(() => reported.push('closed'))
  const announced = links.announce(new Map()).then(() => reported.push('in force'))
  await clock.advance(0)
  expect(reported).toEqual([])
  closed.resolve()
  await Promise.all([used, announced])
  await links.announce(new Map())
})
