import { expect, test } from 'vitest'
import { documentSection } from '../../telemetry/metrics/document.ts'
import { createRecordingObserver } from '../testing/recording-observer.ts'
import { countRunner, createRunnerMetrics, RUNNER_METRICS, RUNNER_PREFIX } from './observer.ts'

test('reports of the runner are counted and passed on', async () => {
  const metrics = createRunnerMetrics()
  const next = createRecordingObserver()
  const observer = countRunner(metrics, next)
  observer.depth('endpoints', 3)
  observer.depth('endpoints', 2)
  observer.retried('endpoints')
  observer.reconciled('endpoints', 0.25)
  observer.wrote('endpoints', 'create', 'done')
  observer.wrote('endpoints', 'patch', 'conflict')
  const [controller, key] = ['endpoints', 'shop/web']
  observer.problem({ controller, key, errorCode: 'NP_CONTROLLERS_WRITE', message: 'refused' })
  observer.healed('endpoints', 'NP_CONTROLLERS_WRITE')
  expect((await metrics.text()).split('\n')).toEqual(
    expect.arrayContaining([
      'workqueue_depth{controller="endpoints"} 2',
      'workqueue_retries_total{controller="endpoints"} 1',
      'workqueue_work_duration_seconds_sum{controller="endpoints"} 0.25',
      'controller_writes_total{controller="endpoints",verb="create",result="done"} 1',
      'controller_writes_total{controller="endpoints",verb="patch",result="conflict"} 1',
      'controller_problems_total{controller="endpoints",code="NP_CONTROLLERS_WRITE"} 1',
    ]),
  )
  expect(next.records).toEqual([
    'retried endpoints',
    'wrote endpoints create done',
    'wrote endpoints patch conflict',
    'problem endpoints NP_CONTROLLERS_WRITE',
    'healed endpoints NP_CONTROLLERS_WRITE',
  ])
})

test('nothing is exported but what the table names', async () => {
  const text = await createRunnerMetrics().text()
  const helps = Object.values(RUNNER_METRICS).map(({ name, help }) => `# HELP ${name} ${help}`)
  expect(text.split('\n').filter((line) => line.startsWith('# HELP'))).toEqual(helps)
  expect(text).toMatch(/[^\n]\n$/)
})

test('docs/controller-metrics.md matches the table', async () => {
  await expect(runnerMetricsDocument()).toMatchFileSnapshot('../../../docs/controller-metrics.md')
})

/** The text of docs/controller-metrics.md. */
function runnerMetricsDocument(): string {
  return `${INTRODUCTION}\n${documentSection('Queues and writes', RUNNER_PREFIX, RUNNER_METRICS)}`
}

const INTRODUCTION = `# Metrics of the controllers

<!-- Generated from src/controllers/runner/observer.ts; \`npx vitest run src/controllers/runner/observer --update\` writes it anew. -->

Served by orch-server under \`/metrics\`, beside those of the API server. \`controller\` is the name of
a controller, \`verb\` is create, patch, delete or record (an Event); \`result\` is done, conflict or
failed.
`
