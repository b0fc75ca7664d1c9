import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  type GrafanaVariable,
  readDashboards,
  substitute,
} from '../../support/prometheus/grafana.ts'
import { labelsOfLevel, readRules } from '../../support/prometheus/rule-files.ts'
import { CLUSTER, type ObservedSandbox, startObservedSandbox } from './observed-sandbox.ts'
import type { AnsweredSeries } from './prometheus-api.ts'
import { makeTraffic } from './traffic.ts'

/** How long a query may have no series: for a series that its cause has yet to make. */
const TIMEOUT = { timeout: 60_000, interval: 500 }

const stack = new AsyncDisposableStack()
let sandbox: ObservedSandbox
let trafficFailure: Error | undefined

beforeAll(async () => {
  sandbox = await startObservedSandbox(stack)
  const stop = new AbortController()
  const traffic = makeTraffic(sandbox, stop.signal).catch((error: Error) => {
    trafficFailure = error
  })
  stack.defer(async () => {
    stop.abort()
    await traffic
  })
})

afterAll(() => stack.disposeAsync())

beforeEach(() => {
  if (trafficFailure !== undefined) throw trafficFailure
})

/** The series that have a number; a quantile of nothing has none. */
function withNumbers(series: readonly AnsweredSeries[]): readonly AnsweredSeries[] {
  return series.filter(({ numbers }) => numbers.length > 0)
}

describe.each(readDashboards())('config/grafana/%s', (_file, { panels, templating }) => {
  const queries = panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ refId, expr }) => ({ title, refId, expr })),
  )

  test.each(queries)('$title, query $refId, returns series', async ({ expr }) => {
    const { prometheus } = sandbox
    for (const values of [{}, { cluster: CLUSTER }]) {
      const now = () => prometheus.query(substitute(expr, values)).then(withNumbers)
      const lately = () => prometheus.queryRange(substitute(expr, values)).then(withNumbers)
      await expect.poll(now, { ...TIMEOUT, message: expr }).not.toEqual([])
      await expect.poll(lately, { ...TIMEOUT, message: expr }).not.toEqual([])
    }
    const elsewhere = await prometheus.query(substitute(expr, { cluster: 'other' }))
    expect(elsewhere.filter(({ labels }) => Object.keys(labels).length > 0)).toEqual([])
  })

  const variables = templating.list.filter(({ type }) => type === 'query')
  test.each(variables)('the variable $name has values', async (variable) => {
    const [, selector = '', label = ''] =
      /^label_values\((.*), (\w+)\)$/.exec(queryOf(variable)) ?? []
    const values = await sandbox.prometheus.labelValues(label, substitute(selector))
    expect(values).not.toEqual([])
    if (label === 'cluster') expect(values).toEqual([CLUSTER])
  })
})

function queryOf({ query }: GrafanaVariable): string {
  return typeof query === 'string' ? query : query.query
}

const recorded = new Set(readRules().flatMap(({ record }) => record ?? []))
test.each([...recorded])('%s is recorded, with the labels that its name says', async (record) => {
  const series = () => sandbox.prometheus.query(record).then(withNumbers)
  await expect.poll(series, { ...TIMEOUT, message: record }).not.toEqual([])
  const labels = (await series()).map((one) =>
    Object.keys(one.labels).filter((key) => key !== '__name__'),
  )
  expect(new Set(labels.map((keys) => keys.toSorted().join()))).toEqual(
    new Set([labelsOfLevel(record).toSorted().join()]),
  )
})

test('every rule is evaluated without an error, and nothing is critical in the sandbox', async () => {
  const rules = await sandbox.prometheus.rules()
  expect(rules.map(({ name }) => name).toSorted()).toEqual(
    readRules()
      .flatMap(({ record, alert }) => record ?? alert ?? [])
      .toSorted(),
  )
  const failing = rules.filter(({ health }) => health !== 'ok')
  expect(failing).toEqual([])
  expect(trafficFailure).toBeUndefined()
  const critical = await sandbox.prometheus.query('ALERTS{alertstate="firing",severity="critical"}')
  expect(critical).toEqual([])
})
