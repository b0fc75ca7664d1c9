import { Registry } from 'prom-client'
import { exponential, type MetricDefinition } from '../../telemetry/metrics/definition.ts'
import { createRegistry, type MetricsOf } from '../../telemetry/metrics/registry.ts'
import type { RunnerObserver } from '../runner/observer.ts'

/** The queue's metrics have the names that Kubernetes dashboards expect. */
export const RUNNER_PREFIX = ''

/** Every metric of the controllers, once. */
export const RUNNER_METRICS = {
  depth: {
    name: 'workqueue_depth',
    type: 'gauge',
    labels: ['controller'],
    help: 'Keys that wait to be looked at, without those that back off.',
  },
  retries: {
    name: 'workqueue_retries_total',
    type: 'counter',
    labels: ['controller'],
    help: 'Keys that came back because a write was refused or failed.',
  },
  workDuration: {
    name: 'workqueue_work_duration_seconds',
    type: 'histogram',
    labels: ['controller'],
    buckets: exponential(0.0001, 4, 10),
    help: 'How long one key took, with its writes.',
  },
  writes: {
    name: 'controller_writes_total',
    type: 'counter',
    labels: ['controller', 'verb', 'result'],
    help: 'Writes by what they did and how they ended; a conflict is expected and tried again.',
  },
  problems: {
    name: 'controller_problems_total',
    type: 'counter',
    labels: ['controller', 'code'],
    help: 'Problems that began, by their code (see errors.md); one that lasts counts once.',
  },
} as const satisfies Readonly<Record<string, MetricDefinition>>

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
