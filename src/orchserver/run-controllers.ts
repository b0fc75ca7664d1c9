import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { ApiClient } from '../client/http/api-client.ts'
import { ApiFailures } from '../client/http/api-failures.ts'
import { READER_ACCOUNT } from '../controllers/known-controllers.ts'
import type { Controller } from '../controllers/runner/controller.ts'
import { createObjectFollower } from '../controllers/runner/object-follower.ts'
import { createObjectWriter } from '../controllers/runner/object-writer.ts'
import {
  countRunner,
  type RunnerMetrics,
  type RunnerObserver,
} from '../controllers/runner/observer.ts'
import { type Leadership, Runner } from '../controllers/runner/runner.ts'
import { type Clock, sleep } from '../lib/clock.ts'
import { systemRandom } from '../lib/random.ts'
import type { Election } from '../storage/election.ts'
import type { Logger } from '../telemetry/logger.ts'
import { createFailureLog } from './system/failure-log.ts'
import { waitBriefly } from './system/wait-briefly.ts'

const RETRY_MS = 1000

export interface ControllersOptions {
  readonly controllers: readonly Controller[]
  /** A client of this server that acts as an account of kube-system; the caller closes it. */
  readonly clientOf: (account: string) => ApiClient
  /** Elects the replica whose controllers write. */
  readonly election: Election
  readonly metrics: RunnerMetrics
  readonly clock: Clock
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
}

export interface RunningControllers {
  /** Finishes the writes in progress, then resigns, so that the controllers of another replica can take over. */
  close(): Promise<void>
}

/** Runs controllers in this process while it is elected. */
export function runControllers(options: ControllersOptions): RunningControllers {
  const { controllers, clientOf, metrics, clock, log } = options
  const client = clientOf(READER_ACCOUNT)
  const leadership = createLeadership(options)
  const fields = { client: 'controllers' }
  const reporter = new ApiFailures({ clock, log, server: client.server, fields })
  const runner = new Runner({
    controllers,
    clock,
    leadership,
    follower: createObjectFollower({ client, clock, random: systemRandom, reporter }),
    writerOf: (account) => createObjectWriter(clientOf(account)),
    observer: countRunner(metrics, logProblems(log)),
  })
  const [stopWork, stopLeading] = [new AbortController(), new AbortController()]
  const working = runner.run(stopWork.signal).catch((err: unknown) => {
    log.error({ err }, 'the controllers ended because of a bug; restart this server')
    stopLeading.abort()
  })
  const leading = leadership.run(stopLeading.signal)
  return {
    async close() {
      stopWork.abort()
      await working
      stopLeading.abort()
      await waitBriefly(clock, leading)
    },
  }
}

function createLeadership({ election, clock, log }: ControllersOptions) {
  const candidate = `${hostname()}_${randomUUID()}`
  return createElectedLeadership({
    election,
    candidate,
    clock,
    onElected: (term) =>
      log.info({ candidate, term }, 'this server became the leader: its controllers write'),
    onLost: () =>
      log.warn({ candidate }, 'this server lost its leadership: its controllers stop writing'),
    onFailure: createFailureLog({ clock, log }, () => ({
      level: 'warn',
      message:
        'the election of the server that runs the controllers failed; it is repeated every second',
    })),
  })
}

/** Logs the beginning and the end of each problem of a controller. */
function logProblems(log: Pick<Logger, 'info' | 'warn'>): RunnerObserver {
  const noop = (): void => undefined
  return {
    depth: noop,
    retried: noop,
    reconciled: noop,
    wrote: noop,
    problem: ({ controller, key, errorCode, message, cause }) =>
      log.warn({ controller, key, code: errorCode, err: cause }, message),
    healed: (controller, code) => log.info({ controller, code }, 'the problem is resolved'),
  }
}

interface ElectedLeadershipOptions {
  readonly election: Election
  /** The name of this candidate, unique among all replicas, also on one machine. */
  readonly candidate: string
  readonly clock: Clock
  readonly onElected: (term: number) => void
  readonly onLost: () => void
  /** Called when a campaign failed; another one follows. */
  readonly onFailure: (error: unknown) => void
}

/** Leadership while this server is elected. */
interface ElectedLeadership extends Leadership {
  /** Campaigns, and again after every lost term, until `signal` is aborted; then resigns. */
  run(signal: AbortSignal): Promise<void>
}

export function createElectedLeadership(options: ElectedLeadershipOptions): ElectedLeadership {
  const { election, candidate, clock, onElected, onLost, onFailure } = options
  const listeners = new Set<() => void>()
  let leads = false

  function lead(next: boolean): void {
    leads = next
    for (const listener of listeners) listener()
  }

  async function serveTerm(signal: AbortSignal): Promise<void> {
    const leading = await election.campaign(candidate, signal)
    onElected(leading.term)
    lead(true)
    await aborted(AbortSignal.any([leading.lost, signal]))
    lead(false)
    if (leading.lost.aborted) onLost()
    else await leading.resign()
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
