import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readDashboards, substitute } from '../support/prometheus/grafana.ts'
import { readPromql } from '../support/prometheus/promql.ts'
import { labelsOfLevel, readRules } from '../support/prometheus/rule-files.ts'
import { explainedLabels } from './explained-metrics.ts'
import { root } from './source-file.ts'

const TARGET_LABELS = ['cluster', 'job', 'instance']
/** Where a dashboard shows by other labels or over another time what a recording rule has. */
const OF_OTHER_LABELS = [
  'apiserver_request_duration_seconds_bucket',
  'orchdns_failures_total',
  'orchserver_dns_failures_total',
]

const rules = readRules()
const recorded = new Set(rules.flatMap(({ record }) => record ?? []))
const sourcesOfRules = new Set(
  rules
    .filter(({ record }) => record !== undefined)
    .flatMap(({ expr }) => readPromql(expr).selectors.map(({ metric }) => metric))
    .filter((metric) => !recorded.has(metric)),
)

const dashboards = readDashboards()
const queries = dashboards.flatMap(([file, { panels }]) =>
  panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr, refId }) => ({
      where: `${file}: ${title} ${refId}`,
      expr: substitute(expr),
    })),
  ),
)
const selections = queries.flatMap(({ where, expr }) =>
  readPromql(expr).selectors.map((selector) => ({
    ...selector,
    where: `${where}: ${selector.metric}`,
  })),
)

test('there are dashboards of a node, a cluster, DNS and the API server, each with an address of its own', () => {
  const names = ['api-server.json', 'cluster.json', 'dns.json', 'node.json']
  expect(dashboards.map(([file]) => file).toSorted()).toEqual(names)
  expect(new Set(dashboards.map(([, { uid }]) => uid)).size).toBe(names.length)
  expect(queries.length).toBeGreaterThan(80)
})

test.each(dashboards)('config/grafana/%s is well formed', (_file, dashboard) => {
  const { panels, templating } = dashboard
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length)
  const variables = templating.list.map(({ name, type }) => `${name} ${type}`)
  expect(variables.slice(0, 2)).toEqual(['datasource datasource', 'cluster query'])
  const shown = panels.filter(({ type }) => type !== 'row')
  const bare = shown.filter(
    ({ description, fieldConfig, targets = [], links = [] }) =>
      (description ?? '').length < 40 ||
      (fieldConfig?.defaults.unit ?? '') === '' ||
      targets.length === 0 ||
      links.length === 0,
  )
  expect(bare.map(({ title }) => title)).toEqual([])
  expect(new Set(dataSources(dashboard))).toEqual(new Set(['${datasource}']))
})

test.each(dashboards)(
  'panels of config/grafana/%s stand beside each other',
  (_file, { panels }) => {
    const taken = panels.flatMap(({ title, gridPos: { x, y, w, h } }) => {
      expect([title, x + w]).toEqual([title, expect.toSatisfy((end: number) => end <= 24)])
      return Array.from(
        { length: w * h },
        (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`,
      )
    })
    expect(new Set(taken).size).toBe(taken.length)
  },
)

/** The uid of every data source that a part of a dashboard names. */
function dataSources(part: unknown): readonly string[] {
  if (typeof part !== 'object' || part === null) return []
  return Object.entries(part).flatMap(([key, value]) =>
    key === 'datasource' ? [String((value as { readonly uid?: unknown }).uid)] : dataSources(value),
  )
}

test('every link leads to a page of docs, and to a heading of it', () => {
  const links = dashboards.flatMap(([file, { links: own, panels }]) =>
    [...own, ...panels.flatMap((panel) => panel.links ?? [])].map(({ url }) => ({ file, url })),
  )
  const broken = links.filter(({ url }) => url !== '' && !leadsSomewhere(url))
  expect(broken).toEqual([])
  expect(links.length).toBeGreaterThan(60)
})

function leadsSomewhere(url: string): boolean {
  const [, page = '', heading] = /^\$\{docs\}\/([\w./-]+\.md)(?:#(.+))?$/.exec(url) ?? []
  const path = join(root, 'docs', page)
  if (page === '' || !existsSync(path)) return false
  return heading === undefined || headingsOf(path).includes(heading)
}

/** The headings of a page as they are addressed: in lower case, with dashes for spaces, without other marks. */
function headingsOf(path: string): readonly string[] {
  return [...readFileSync(path, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )
}

test('dashboards select metrics that the documentation explains or a rule records, by labels that they have', () => {
  const unknown = selections.flatMap(({ where, metric, labels }) => {
    const has = recorded.has(metric) ? labelsOfLevel(metric) : explainedLabels(metric)
    if (has === undefined) return [where]
    const known = [...has, ...TARGET_LABELS]
    return labels.filter((label) => !known.includes(label)).map((label) => `${where} ${label}`)
  })
  expect(unknown).toEqual([])
})

test('every query is of the clusters that the reader chose', () => {
  const ofAll = selections.filter(
    ({ metric, labels }) => !labels.includes('cluster') && metric !== 'slo:slo_error_budget:ratio',
  )
  expect(ofAll.map(({ where }) => where)).toEqual([])
})

test('no dashboard computes what a recording rule has', () => {
  const again = selections.filter(
    ({ metric }) => sourcesOfRules.has(metric) && !OF_OTHER_LABELS.includes(metric),
  )
  expect(again.map(({ where }) => where)).toEqual([])
})

test('everything that is recorded is used by a dashboard, an alert or another rule', () => {
  const used = new Set([
    ...selections.map(({ metric }) => metric),
    ...rules.flatMap(({ expr }) => readPromql(expr).selectors.map(({ metric }) => metric)),
  ])
  expect([...recorded].filter((metric) => !used.has(metric))).toEqual([])
})

test.each([
  [
    'sum by (a) (rate(x_total{b="c"}[5m]))',
    { selectors: [{ metric: 'x_total', labels: ['b'] }], groupings: ['a'] },
  ],
  [
    '1 - x:y:z / on (slo) group_left () z',
    {
      selectors: [
        { metric: 'x:y:z', labels: [] },
        { metric: 'z', labels: [] },
      ],
      groupings: ['slo'],
    },
  ],
])('the check reads %s', (expr, expected) => {
  expect(readPromql(expr)).toEqual(expected)
})

test('the check refuses what is no expression', () => {
  expect(() => readPromql('sum by (rate(x[5m])')).toThrow('not PromQL')
})
