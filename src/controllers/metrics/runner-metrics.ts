import { Registry } from 'prom-client'
import { createRegistry, type MetricsOf } from '../../telemetry/metrics/registry.ts'
import type { RunnerObserver } from '../runner/observer.ts'
import { RUNNER_METRICS, RUNNER_PREFIX } from './runner-metric-table.ts'

/** The metrics of `RUNNER_METRICS`. */
export type RunnerMetrics = MetricsOf<typeof RUNNER_METRICS>

/**
 * The metrics of the controllers of one process. Their text can stand beside that
 * of the API server: it leaves out the process, which the other reports.
 */
export function createRunnerMetrics(): RunnerMetrics {
  return createRegistry(RUNNER_METRICS, RUNNER_PREFIX, new Registry())
}

/** Counts the reports of the runner and passes them on to the next observer. */
export function countRunner(metrics: RunnerMetrics, next: RunnerObserver): RunnerObserver {
  return {
    depth(controller, keys) {
      metrics.depth.set({ controller }, keys)
      next.depth(controller, keys)
    },
    retried(controller) {
      metrics.retries.inc({ controller })
      next.retried(controller)
    },
    reconciled(controller, seconds) {
      metrics.workDuration.observe({ controller }, seconds)
      next.reconciled(controller, seconds)
    },
    wrote(controller, verb, result) {
      metrics.writes.inc({ controller, verb, result })
      next.wrote(controller, verb, result)
    },
    problem(problem) {
      metrics.problems.inc({ controller: problem.controller, code: problem.errorCode })
      next.problem(problem)
    },
    healed: (controller, errorCode) => next.healed(controller, errorCode),
  }
}
