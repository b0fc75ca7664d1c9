import { expect, test } from 'vitest'
import { createSoleCandidate } from './sole-candidate.ts'

test('leads at once, until it resigns, in ever later terms', async () => {
  const election = createSoleCandidate()
  const first = await election.campaign('one')
  expect(first.lost.aborted).toBe(false)
  await first.resign()
  expect(first.lost.aborted).toBe(true)
  expect((await election.campaign('one')).term).toBeGreaterThan(first.term)
})
