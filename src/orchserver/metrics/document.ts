import { documentSection } from '../../telemetry/metrics/document.ts'
import { PROCESS_METRICS, PROCESS_PREFIX } from './process-metrics.ts'

/** The text of docs/orch-server-metrics.md. */
export function processMetricsDocument(): string {
  return `${INTRODUCTION}\n${documentSection('Certificate, node agent, audit log', PROCESS_PREFIX, PROCESS_METRICS)}`
}

const INTRODUCTION = `# Metrics of the process of orch-server

<!-- Generated from src/orchserver/metrics; \`npx vitest run src/orchserver/metrics --update\` writes it anew. -->

Served under \`/metrics\`, beside those of the [API server](apiserver-metrics.md) and of the
[controllers](controller-metrics.md).
`
