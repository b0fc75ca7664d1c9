import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { readPromql } from '../support/prometheus/promql.ts'
import { labelsOfLevel, readRules } from '../support/prometheus/rule-files.ts'
import { explainedLabels } from './explained-metrics.ts'
import { root } from './source-file.ts'

const files = readdirSync(join(root, 'config'), { recursive: true, encoding: 'utf8' })
const units = files.filter((file) => file.startsWith('systemd/'))

function textOf(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

test.each(files.filter((file) => file.endsWith('.yaml')))(
  'config/%s is valid YAML without duplicate keys',
  (file) => {
    const documents = parseAllDocuments(textOf(join('config', file)))
    expect([...documents].flatMap(({ errors }) => errors)).toEqual([])
    expect([...documents].length).toBeGreaterThan(0)
  },
)

const rules = readRules()
const recorded = new Set(rules.flatMap(({ record }) => record ?? []))

/** What the scrape configuration adds. */
const TARGET_LABELS = ['cluster', 'job', 'instance']

test('rules select metrics that the documentation explains or a rule records, by labels that they have', () => {
  const unknown = rules.flatMap(({ file, record, alert, expr }) =>
    readPromql(expr).selectors.flatMap(({ metric, labels }) => {
      const has = recorded.has(metric) ? labelsOfLevel(metric) : explainedLabels(metric)
      const known = has === undefined ? [] : [...has, ...TARGET_LABELS]
      const where = `${file}: ${record ?? alert}: ${metric}`
      if (has === undefined) return [where]
      return labels.filter((label) => !known.includes(label)).map((label) => `${where} ${label}`)
    }),
  )
  expect(unknown).toEqual([])
  expect(rules.length).toBeGreaterThan(70)
})

test('a recorded metric is named level:metric:operations, and its level is what it is grouped by', () => {
  const wrong = rules.flatMap(({ record, expr, labels = {} }) => {
    if (record === undefined) return []
    const { selectors, groupings } = readPromql(expr)
    const inherited = selectors.flatMap(({ metric }) =>
      recorded.has(metric) ? labelsOfLevel(metric) : [],
    )
    const possible = [...groupings, ...inherited, ...Object.keys(labels)]
    const isNamed = /^[a-z]+(?:_[a-z]+)*:[a-z][a-z_]*:[a-z][a-z0-9_]*$/.test(record)
    return isNamed && labelsOfLevel(record).every((label) => possible.includes(label))
      ? []
      : [record]
  })
  expect(wrong).toEqual([])
})

test('config/prometheus/prometheus.yaml loads every file of rules', () => {
  const { rule_files } = parse(textOf('config/prometheus/prometheus.yaml')) as {
    readonly rule_files: readonly string[]
  }
  expect(rule_files.toSorted()).toEqual([...new Set(rules.map(({ file }) => file))].toSorted())
})

test.each(units)('config/%s starts a program and names a page that exist', (file) => {
  const installed = textOf(join('config', file)).matchAll(/\/opt\/node-proxy\/([\w/.-]+)/g)
  const missing = [...installed].filter(([, path = '']) => !existsSync(join(root, path)))
  expect(missing).toEqual([])
})

/** Of ten times the number that systemd-analyze prints: what a daemon with CAP_NET_ADMIN can reach. */
const MAX_EXPOSURE = 35
const hasAnalyze = spawnSync('systemd-analyze', ['--version']).status === 0

test.runIf(hasAnalyze).each(units.filter((file) => file.endsWith('.service')))(
  'config/%s is sandboxed',
  (file) => {
    const limit = ['--offline=true', `--threshold=${MAX_EXPOSURE}`]
    const words = ['security', ...limit, join(root, 'config', file)]
    const { status, stdout } = spawnSync('systemd-analyze', words, { encoding: 'utf8' })
    expect({ status, exposure: stdout.split('\n').at(-2) }).toMatchObject({ status: 0 })
  },
)

test.each(units)('docs/operate says what config/%s is for', (file) => {
  const pages = ['install.md', 'orch-server.md'].map((page) => textOf(`docs/operate/${page}`))
  expect(pages.join('')).toContain(`config/${file}`)
})
