import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { hasProgram } from '../../support/on-demand/has-program.ts'
import { root } from '../source-file.ts'
import {
  type AlertCase,
  DNS_CASES,
  NODE_PROXY_CASES,
  ORCH_SERVER_CASES,
  type Series,
} from './cases.ts'

interface RuleFile {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string }[] }[]
}

const canRun = hasProgram('promtool', 'prometheus')

const FILES = [
  { file: 'alerts.yaml', cases: NODE_PROXY_CASES },
  { file: 'orch-server-alerts.yaml', cases: ORCH_SERVER_CASES },
  { file: 'dns-alerts.yaml', cases: DNS_CASES },
].map(({ file, cases }) => ({ file, path: join(root, 'config/prometheus', file), cases }))

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

/** Runs promtool over `tests` with the rules of `path`; its exit status and what it printed. */
function promtool(path: string, tests: readonly unknown[]) {
  const folder = mkdtempSync(join(tmpdir(), 'np-alerts-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'tests.yaml')
  writeFileSync(file, stringify({ rule_files: [path], evaluation_interval: '1m', tests }))
  const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], {
    encoding: 'utf8',
  })
  return { status, said: stdout + stderr }
}

test.each(FILES)('every alert of $file has its histories, and no other', ({ path, cases }) => {
  const { groups } = parse(readFileSync(path, 'utf8')) as RuleFile
  const alerts = groups.flatMap(({ rules }) => rules.map(({ alert }) => alert))
  expect(alerts.toSorted()).toEqual(Object.keys(cases).toSorted())
})

test.runIf(canRun).each(FILES)(
  'the alerts of $file fire when they should, and only then',
  ({ path, cases }) => {
    const tests = Object.entries(cases).flatMap(([alert, one]) => [
      history(alert, one, [one.fires, true]),
      history(alert, one, [one.quiet, false]),
    ])
    expect(promtool(path, tests)).toEqual({ status: 0, said: expect.stringContaining('SUCCESS') })
  },
)

test.runIf(canRun)('a history that does not fire is reported', () => {
  const [{ path } = FILES[0]!] = FILES
  const one = NODE_PROXY_CASES['NodeProxyChangeStuck']!
  const wrong = history('NodeProxyChangeStuck', one, [one.quiet, true])
  expect(promtool(path, [wrong])).toEqual({ status: 1, said: expect.stringContaining('FAILED') })
})
