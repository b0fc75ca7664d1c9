import { expect, test } from 'vitest'
import { documentSection } from '../../telemetry/metrics/document.ts'
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

/** The text of docs/orch-server-metrics.md. */
function processMetricsDocument(): string {
  return `${INTRODUCTION}\n${documentSection('Certificate, node agent, audit log', PROCESS_PREFIX, PROCESS_METRICS)}`
}

const INTRODUCTION = `# Metrics of the process of orch-server

<!-- Generated from src/orchserver/system/process-metrics.ts; \`npx vitest run src/orchserver/system/process-metrics --update\` writes it anew. -->

Served under \`/metrics\`, beside those of the [API server](apiserver-metrics.md) and of the
[controllers](controller-metrics.md).
`
