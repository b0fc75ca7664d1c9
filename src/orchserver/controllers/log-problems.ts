import type { RunnerObserver } from '../../controllers/runner/observer.ts'
import type { Logger } from '../../telemetry/logger.ts'

/** Logs the beginning and the end of each problem of a controller. */
export function logProblems(log: Pick<Logger, 'info' | 'warn'>): RunnerObserver {
  const noop = (): void => undefined
  return {
    depth: noop,
    retried: noop,
    reconciled: noop,
    wrote: noop,
    problem: ({ controller, key, errorCode, message, cause }) =>
      log.warn({ controller, key, code: errorCode, err: cause }, message),
    healed: (controller, code) => log.info({ controller, code }, 'the problem is over'),
  }
}
