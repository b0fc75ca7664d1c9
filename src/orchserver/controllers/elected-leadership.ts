import type { Leadership } from '../../controllers/runner/leadership.ts'
import type { Clock } from '../../lib/clock.ts'
import { sleep } from '../../lib/sleep.ts'
import type { Election } from '../../storage/election.ts'

export interface ElectedLeadershipOptions {
  readonly election: Election
  /** Who stands: unique among all replicas, also of one machine. */
  readonly candidate: string
  readonly clock: Clock
  readonly onElected: (term: number) => void
  readonly onLost: () => void
  /** A campaign failed; another one follows. */
  readonly onFailure: (error: unknown) => void
}

/** Leadership as long as this server holds the office of an election. */
export interface ElectedLeadership extends Leadership {
  /** Campaigns again after every term, until `signal` is aborted; then resigns. */
  run(signal: AbortSignal): Promise<void>
}

const RETRY_MS = 1000

export function createElectedLeadership(options: ElectedLeadershipOptions): ElectedLeadership {
  const { election, candidate, clock, onElected, onLost, onFailure } = options
  const listeners = new Set<() => void>()
  let leads = false

  function lead(next: boolean): void {
    leads = next
    for (const listener of listeners) listener()
  }

  async function serveTerm(signal: AbortSignal): Promise<void> {
    const office = await election.campaign(candidate, signal)
    onElected(office.term)
    lead(true)
    await aborted(AbortSignal.any([office.lost, signal]))
    lead(false)
    if (office.lost.aborted) onLost()
    else await office.resign()
  }

  return {
    isLeader: () => leads,
    onChange: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    async run(signal) {
      while (!signal.aborted) {
        try {
          await serveTerm(signal)
        } catch (error) {
          if (signal.aborted) return
          onFailure(error)
          await sleep(clock, RETRY_MS, signal)
        }
      }
    },
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
