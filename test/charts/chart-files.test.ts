import { globSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import {
  type ChartName,
  chartCopies,
  chartPath,
  chartText,
  projectText,
  restartSettings,
  valuesSchema,
} from './support/chart-files.ts'
import { documentWithTables } from './support/values-table.ts'

const CHARTS: readonly ChartName[] = ['node-proxy', 'orch-server']

describe('written anew by vitest run test/charts --update', () => {
  test.each(CHARTS)(
    'values.schema.json of %s has every field of the configuration',
    async (chart) => {
      await expect(valuesSchema(chart)).toMatchFileSnapshot(chartPath(chart, 'values.schema.json'))
    },
  )

  test('the chart knows which settings need a new start', async () => {
    const path = chartPath('node-proxy', 'files/restart-settings.txt')
    await expect(restartSettings()).toMatchFileSnapshot(path)
  })

  test.each(chartCopies())('$source is in the chart $chart', async ({ source, chart, file }) => {
    await expect(projectText(source)).toMatchFileSnapshot(chartPath(chart, 'files', file))
  })

  test('docs/operate/helm.md has a row for each value', async () => {
    await expect(documentWithTables(projectText('docs/operate/helm.md'))).toMatchFileSnapshot(
      '../../docs/operate/helm.md',
    )
  })
})

test.each(CHARTS)('%s has no rule or dashboard that config does not have', (chart) => {
  const known = chartCopies().flatMap((copy) => (copy.chart === chart ? [copy.file] : []))
  const found = globSync('{rules,dashboards}/*', { cwd: chartPath(chart, 'files') })
  expect(found.toSorted()).toEqual(known.toSorted())
})

test.each(CHARTS)('the version of %s is that of the project', (chart) => {
  const { version } = JSON.parse(projectText('package.json')) as { readonly version: string }
  expect(parse(chartText(chart, 'Chart.yaml'))).toMatchObject({
    name: chart,
    version,
    appVersion: version,
  })
})
