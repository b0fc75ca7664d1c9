import { expect, test } from 'vitest'
import { processMetricsDocument } from './document.ts'
import { createProcessMetrics, PROCESS_METRICS, PROCESS_PREFIX } from './process-metrics.ts'

test('nothing is exported but what the table names', async () => {
  const text = await createProcessMetrics().text()
  const helps = Object.values(PROCESS_METRICS).map(
    ({ name, help }) => `# HELP ${PROCESS_PREFIX}${name} ${help}`,
  )
  expect(text.split('\n').filter((line) => line.startsWith('# HELP'))).toEqual(helps)
  expect(text).not.toContain('node_agent_up 0')
})

test('docs/orch-server-metrics.md matches the table', async () => {
  await expect(processMetricsDocument()).toMatchFileSnapshot('../../../docs/orch-server-metrics.md')
})
