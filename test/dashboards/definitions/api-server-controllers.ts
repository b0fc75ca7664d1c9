import type { RowSpec } from './dashboard.ts'
import { INSTANCE as I, orZero, quantileBy, rateBy } from './queries.ts'

const PRESENT = `apiserver_cache_lag_revisions{${I}}`

/** The row of the API server about its controllers, Pods of its machine, and its audit log. */
export const controllers: RowSpec = {
  title: 'Controllers, Pods and audit log',
  panels: [
    {
      title: 'Keys that wait',
      kind: 'lines',
      answers: 'How many objects wait for each controller.',
      remedy:
        'Above 0 for minutes: of endpoints, Services lead to Pods that are gone. Look at "Problems of controllers".',
      unit: 'none',
      queries: [{ expr: `workqueue_depth{${I}}`, legend: '{{instance}} {{controller}}' }],
      page: 'operate/orch-server.md#controllers',
    },
    {
      title: 'Duration of a reconcile',
      kind: 'lines',
      answers: 'How long controllers take for one object, writes included; 99 of 100 are faster.',
      remedy: 'Red: the store is slow, or an object has very many dependants.',
      unit: 's',
      red: { from: 1 },
      queries: [
        {
          expr: quantileBy(
            0.99,
            'instance, controller',
            `workqueue_work_duration_seconds_bucket{${I}}`,
          ),
          legend: '{{instance}} {{controller}}',
        },
      ],
      page: 'operate/orch-server.md#controllers',
    },
    {
      title: 'Writes of controllers',
      kind: 'lines',
      answers:
        'How many objects controllers write each second, and how that ends. A conflict is expected and retried.',
      remedy:
        'failed: see "Problems of controllers". Endless writes of one controller: two programs set the same field.',
      unit: 'ops',
      queries: [
        {
          expr: rateBy('instance, controller, result', `controller_writes_total{${I}}`),
          legend: '{{instance}} {{controller}} {{result}}',
        },
      ],
      page: 'operate/orch-server.md#controllers',
    },
    {
      title: 'Problems of controllers',
      kind: 'lines',
      answers:
        'How many problems began within an hour, by their code; and how many keys are tried again each second.',
      remedy: 'errors.md has the remedy for each code.',
      unit: 'none',
      queries: [
        {
          expr: orZero(
            `sum by (instance, controller, code) (increase(controller_problems_total{${I}}[1h]))`,
            PRESENT,
          ),
          legend: '{{instance}} {{controller}} {{code}}',
        },
        {
          expr: orZero(rateBy('instance, controller', `workqueue_retries_total{${I}}`), PRESENT),
          legend: '{{instance}} {{controller}} again',
        },
      ],
      page: 'errors.md',
    },
    {
      title: 'Node agent',
      kind: 'lines',
      answers: 'With --sandbox-node: whether this machine runs Pods.',
      remedy: '0: the log has the reason, `this machine is not a node`.',
      unit: 'none',
      empty: 'without --sandbox-node',
      queries: [{ expr: `orchserver_node_agent_up{${I}}`, legend: '{{instance}} {{node}}' }],
      page: 'operate/orch-server.md#pods-on-this-machine',
    },
    {
      title: 'Audit events',
      kind: 'lines',
      answers:
        'How many audit events are made each second, how many are lost, and how many deliveries fail.',
      remedy:
        'lost: a disk that is full, or a webhook that is away, slow or refuses them. The log has the reason.',
      unit: 'ops',
      queries: [
        {
          expr: orZero(rateBy('instance, level', `orchserver_audit_events_total{${I}}`), PRESENT),
          legend: '{{instance}} {{level}}',
        },
        {
          expr: orZero(
            rateBy('instance, output', `orchserver_audit_events_dropped_total{${I}}`),
            PRESENT,
          ),
          legend: '{{instance}} {{output}} lost',
        },
        {
          expr: orZero(
            rateBy('instance, output', `orchserver_audit_delivery_failures_total{${I}}`),
            PRESENT,
          ),
          legend: '{{instance}} {{output}} failed',
        },
      ],
      page: 'operate/audit.md#watch-it',
    },
  ],
}
