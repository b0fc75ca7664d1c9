import { expect, it } from 'vitest'
import { FakeClock } from '../lib/testing/fake-clock.ts'
import type { Election, LeaderTerm } from '../storage/election.ts'
import { createElectedLeadership } from './run-controllers.ts'

/** An election whose outcome the test decides. */
function scene() {
  const clock = new FakeClock()
  const recorded: string[] = []
  const campaigns: PromiseWithResolvers<LeaderTerm>[] = []
  const election: Election = {
    campaign(candidate, signal) {
      recorded.push(`campaign ${candidate}`)
      const campaign = Promise.withResolvers<LeaderTerm>()
      signal?.addEventListener('abort', () => campaign.reject(signal.reason))
      campaigns.push(campaign)
      return campaign.promise
    },
  }
  const leadership = createElectedLeadership({
    election,
    candidate: 'a',
    clock,
    onElected: (term) => recorded.push(`elected ${term}`),
    onLost: () => recorded.push('lost'),
    onFailure: (error) => recorded.push(`failed ${String(error)}`),
  })
  leadership.onChange(() => recorded.push(`leads ${leadership.isLeader()}`))
  const stop = new AbortController()
  const ran = leadership.run(stop.signal)
  return { clock, recorded, campaigns, leadership, stop, ran }
}

function term(serial: number, recorded: string[]) {
  const over = new AbortController()
  const resign = async () => void recorded.push(`resigned ${serial}`)
  return { over, leading: { term: serial, lost: over.signal, resign } }
}

const turns = () => new Promise((resolve) => setImmediate(resolve))

it('leads for a term, stands again when it is lost, and resigns at the end', async () => {
  const { recorded, campaigns, leadership, stop, ran } = scene()
  expect(leadership.isLeader()).toBe(false)
  const [first, second] = [term(1, recorded), term(2, recorded)]
  campaigns[0]?.resolve(first.leading)
  await turns()
  first.over.abort()
  await turns()
  campaigns[1]?.resolve(second.leading)
  await turns()
  stop.abort()
  await ran
  expect(recorded).toEqual([
    'campaign a',
    'elected 1',
    'leads true',
    'leads false',
    'lost',
    'campaign a',
    'elected 2',
    'leads true',
    'leads false',
    'resigned 2',
  ])
})

it('tries again a second after a failed campaign', async () => {
  const { clock, recorded, campaigns, stop, ran } = scene()
  campaigns[0]?.reject('no etcd')
  await turns()
  expect(recorded).toEqual(['campaign a', 'failed no etcd'])
  await clock.advance(1000)
  await turns()
  expect(recorded.at(-1)).toBe('campaign a')
  stop.abort()
  await ran
  expect(recorded).toHaveLength(3)
})
