import { documentSection } from '../../telemetry/metrics/document.ts'
import { RUNNER_METRICS, RUNNER_PREFIX } from './runner-metrics.ts'

/** The text of docs/controller-metrics.md. */
export function runnerMetricsDocument(): string {
  return `${INTRODUCTION}\n${documentSection('Queues and writes', RUNNER_PREFIX, RUNNER_METRICS)}`
}

const INTRODUCTION = `# Metrics of the controllers

<!-- Generated from src/controllers/metrics; \`npx vitest run src/controllers/metrics --update\` writes it anew. -->

Served by orch-server under \`/metrics\`, beside those of the API server. \`controller\` is the name of
a controller, \`verb\` is create, patch, delete or record (an Event); \`result\` is done, conflict or
failed.
`
