import { expect, test } from 'vitest'
import { createSoleCandidate } from './sole-candidate.ts'

test('leads at once, until it resigns, in ever later terms', async () => {
  const election = createSoleCandidate()
  const first = await election.campaign('one')
  expect([await election.leader(), first.lost.aborted]).toEqual(['one', false])
  await first.resign()
  expect([await election.leader(), first.lost.aborted]).toEqual([undefined, true])
  expect((await election.campaign('one')).term).toBeGreaterThan(first.term)
})
