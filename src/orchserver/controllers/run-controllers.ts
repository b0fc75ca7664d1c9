import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { ApiClient } from '../../client/http/api-client.ts'
import { ApiFailures } from '../../client/http/failure/api-failures.ts'
import { READER_ACCOUNT } from '../../controllers/known-controllers.ts'
import { countRunner, type RunnerMetrics } from '../../controllers/metrics/runner-metrics.ts'
import type { Controller } from '../../controllers/runner/controller.ts'
import { createObjectFollower } from '../../controllers/runner/following/object-follower.ts'
import { Runner } from '../../controllers/runner/runner.ts'
import { createObjectWriter } from '../../controllers/runner/writing/object-writer.ts'
import type { Clock } from '../../lib/clock.ts'
import { systemRandom } from '../../lib/random.ts'
import type { Election } from '../../storage/election.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { createFailureLog } from '../system/failure-log.ts'
import { waitBriefly } from '../system/wait-briefly.ts'
import { createElectedLeadership } from './elected-leadership.ts'
import { logProblems } from './log-problems.ts'

export interface ControllersOptions {
  readonly controllers: readonly Controller[]
  /** A client of this server that acts as an account of kube-system; the caller closes it. */
  readonly clientOf: (account: string) => ApiClient
  /** Which replica's controllers write. */
  readonly election: Election
  readonly metrics: RunnerMetrics
  readonly clock: Clock
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
}

export interface RunningControllers {
  /** Finishes the writes in progress, then resigns, so that another replica's controllers lead. */
  close(): Promise<void>
}

/** Runs controllers in this process, as long as it is the elected one. */
export function runControllers(options: ControllersOptions): RunningControllers {
  const { controllers, clientOf, metrics, clock, log } = options
  const client = clientOf(READER_ACCOUNT)
  const leadership = createLeadership(options)
  const fields = { client: 'controllers' }
  const reporter = new ApiFailures({ clock, log, server: client.server, fields })
  const runner = new Runner({
    ...{ controllers, clock, leadership },
    follower: createObjectFollower({ client, clock, random: systemRandom, reporter }),
    writerOf: (account) => createObjectWriter(clientOf(account)),
    observer: countRunner(metrics, logProblems(log)),
  })
  const [stopWork, stopLeading] = [new AbortController(), new AbortController()]
  const working = runner.run(stopWork.signal).catch((err: unknown) => {
    log.error({ err }, 'the controllers ended for a reason that is a bug; restart this server')
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
    ...{ election, candidate, clock },
    onElected: (term) => log.info({ candidate, term }, 'this server leads: its controllers write'),
    onLost: () =>
      log.warn({ candidate }, 'this server lost its leadership: its controllers stop writing'),
    onFailure: createFailureLog({ clock, log }, () => ({
      level: 'warn',
      message:
        'the election of the server that runs the controllers failed; it is repeated every second',
    })),
  })
}
