import { exponential, type MetricDefinition } from '../../telemetry/metrics/definition.ts'

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
