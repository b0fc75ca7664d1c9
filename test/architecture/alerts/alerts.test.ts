import { expect, test } from 'vitest'
import { hasProgram } from '../../support/on-demand/has-program.ts'
import { readRules } from '../../support/prometheus/rule-files.ts'
import {
  type AlertCase,
  DNS_CASES,
  NODE_PROXY_CASES,
  ORCH_SERVER_CASES,
  type Series,
  SLO_CASES,
} from './cases.ts'
import { promtool } from './promtool.ts'

const canRun = hasProgram('promtool', 'prometheus')

/** `needs`: the rules that record what the alerts select. */
const FILES = [
  { file: 'alerts.yaml', cases: NODE_PROXY_CASES, needs: [] },
  { file: 'orch-server-alerts.yaml', cases: ORCH_SERVER_CASES, needs: [] },
  { file: 'dns-alerts.yaml', cases: DNS_CASES, needs: [] },
  { file: 'slo-alerts.yaml', cases: SLO_CASES, needs: ['recording-rules.yaml'] },
]

/** A history, and whether the alert fires at minute `at` of it. */
function history(alert: string, { at }: AlertCase, [series, fires]: readonly [Series, boolean]) {
  const firing = `count(ALERTS{alertname="${alert}", alertstate="firing"}) > bool 0 or vector(0)`
  const expected = [{ labels: '{}', value: fires ? 1 : 0 }]
  return {
    interval: '1m',
    name: `${alert} ${fires ? 'fires' : 'is quiet'}`,
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    promql_expr_test: [{ expr: firing, eval_time: `${at}m`, exp_samples: expected }],
  }
}

test.each(FILES)('every alert of $file has its histories, and no other', ({ file, cases }) => {
  const own = readRules().filter((rule) => rule.file === file)
  const alerts = own.flatMap(({ alert }) => alert ?? [])
  expect(alerts.toSorted()).toEqual(Object.keys(cases).toSorted())
})

test('every file of alerts has histories', () => {
  const files = readRules().flatMap(({ file, alert }) => (alert === undefined ? [] : file))
  expect([...new Set(files)].toSorted()).toEqual(FILES.map(({ file }) => file).toSorted())
})

test.runIf(canRun).each(FILES)(
  'the alerts of $file fire when they should, and only then',
  ({ file, needs, cases }) => {
    const tests = Object.entries(cases).flatMap(([alert, one]) => [
      history(alert, one, [one.fires, true]),
      history(alert, one, [one.quiet, false]),
    ])
    expect(promtool([...needs, file], tests)).toEqual({
      status: 0,
      said: expect.stringContaining('SUCCESS'),
    })
  },
)

test.runIf(canRun)('a history that does not fire is reported', () => {
  const one = NODE_PROXY_CASES['NodeProxyChangeStuck']!
  const wrong = history('NodeProxyChangeStuck', one, [one.quiet, true])
  expect(promtool(['alerts.yaml'], [wrong])).toEqual({
    status: 1,
    said: expect.stringContaining('FAILED'),
  })
})
