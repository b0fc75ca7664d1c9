import { expect, test } from 'vitest'
import { createSoleCandidate } from './election.ts'

test('leads at once, until it resigns, in ever later terms', async () => {
  const election = createSoleCandidate()
  const first = await election.campaign('one')
  expect(first.lost.aborted).toBe(false)
  await first.resign()
  expect(first.lost.aborted).toBe(true)
  expect((await election.campaign('one')).term).toBeGreaterThan(first.term)
})
