import { Registry } from 'prom-client'
import { exponential, type MetricDefinition } from '../../telemetry/metrics/definition.ts'
import { createRegistry, type MetricsOf } from '../../telemetry/metrics/registry.ts'
import type { Write } from './write.ts'

/** A lasting failure of a controller; reported once until it is resolved. */
export interface ControllerProblem {
  readonly controller: string
  /** The first key that it concerned. */
  readonly key: string
  /** A code of docs/errors.md. */
  readonly errorCode: string
  readonly message: string
  readonly cause?: unknown
}

/**
 * How a write ended: `conflict` is the expected refusal, because another client wrote first; `suppressed` is an Event that was
 * not written because its object has too many.
 */
export type WriteResult = 'done' | 'conflict' | 'failed' | 'suppressed'

/** Receives the reports of the runner, for metrics and logs. */
export interface RunnerObserver {
  /** The number of waiting keys of a controller, without those whose retry is delayed. */
  depth(controller: string, keys: number): void
  /** A key failed and will be reconciled again. */
  retried(controller: string): void
  /** A key was reconciled, including its writes, in this many seconds. */
  reconciled(controller: string, seconds: number): void
  /** A write has ended. */
  wrote(controller: string, verb: Write['verb'], result: WriteResult): void
  /** A problem begins. */
  problem(problem: ControllerProblem): void
  /** The problem with this code is over for every key of the controller. */
  healed(controller: string, errorCode: string): void
}

/** None: the metrics of the queue have the names that they have in Kubernetes. The label is `controller` here, `name` there. */
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
    help: 'Keys that are reconciled again because a write was refused or failed, or because of a bug.',
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
    help: 'Writes, by verb and result; a conflict is expected and is retried, and `suppressed` are Events about an object that has had more than 25.',
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
