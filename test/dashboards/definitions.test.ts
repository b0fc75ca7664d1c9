import { expect, test } from 'vitest'
import { grafanaJson, type PanelSpec, type RowSpec } from './definitions/dashboard.ts'
import { DASHBOARDS } from './definitions/dashboards.ts'
import { dashboardsDocument } from './definitions/document.ts'

test.each(DASHBOARDS)('config/grafana/$name.json is what its definition says', async (spec) => {
  const file = `../../config/grafana/${spec.name}.json`
  await expect(grafanaJson(spec)).toMatchFileSnapshot(file)
})

test('docs/dashboards.md is what the definitions say', async () => {
  await expect(dashboardsDocument(DASHBOARDS)).toMatchFileSnapshot('../../docs/dashboards.md')
})

test.each(DASHBOARDS)('other panels that $name names exist', ({ rows }) => {
  const named = panelsOf(rows).flatMap(({ answers, remedy }) => [
    ...`${answers} ${remedy}`.matchAll(/"([^"]+)"/g),
  ])
  const titles = DASHBOARDS.flatMap((one) => panelsOf(one.rows)).map(({ title }) => title)
  expect(named.map(([, title = '']) => title).filter((title) => !titles.includes(title))).toEqual(
    [],
  )
})

function panelsOf(rows: readonly RowSpec[]): readonly PanelSpec[] {
  return rows.flatMap(({ panels }) => panels)
}
