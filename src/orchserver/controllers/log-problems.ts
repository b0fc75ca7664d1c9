import type { RunnerObserver } from '../../controllers/runner/observer.ts'
import type { Logger } from '../../telemetry/logger.ts'

/** Tells the log what keeps controllers from their work, and when it is over. */
export function logProblems(log: Pick<Logger, 'info' | 'warn'>): RunnerObserver {
  const nothing = (): void => undefined
  return {
    depth: nothing,
    retried: nothing,
    reconciled: nothing,
    wrote: nothing,
    problem: ({ controller, key, errorCode, message, cause }) =>
      log.warn({ controller, key, code: errorCode, err: cause }, message),
    healed: (controller, code) => log.info({ controller, code }, 'the problem is over'),
  }
}
