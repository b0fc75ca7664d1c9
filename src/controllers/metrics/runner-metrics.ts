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
    help: 'Keys that wait to be reconciled, without those whose retry is delayed.',
  },
  retries: {
    name: 'workqueue_retries_total',
    type: 'counter',
    labels: ['controller'],
    help: 'Keys that are reconciled again because a write was refused or failed.',
  },
  workDuration: {
    name: 'workqueue_work_duration_seconds',
    type: 'histogram',
    labels: ['controller'],
    buckets: exponential(0.0001, 4, 10),
    help: 'How long the reconcile of one key took, including its writes.',
  },
  writes: {
    name: 'controller_writes_total',
    type: 'counter',
    labels: ['controller', 'verb', 'result'],
    help: 'Writes, by verb and result; a conflict is expected and is retried.',
  },
  problems: {
    name: 'controller_problems_total',
    type: 'counter',
    labels: ['controller', 'code'],
    help: 'Problems that began, by their code (see errors.md); a lasting problem counts once.',
  },
} as const satisfies Readonly<Record<string, MetricDefinition>>

/** The metrics of `RUNNER_METRICS`. */
export type RunnerMetrics = MetricsOf<typeof RUNNER_METRICS>

/**
 * The metrics of the controllers of one process. Metrics of the process itself are left out, so that the text
 * can be joined with that of the API server, which has them.
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
