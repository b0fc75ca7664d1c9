import { documentSection } from '../../telemetry/metrics/document.ts'
import { SERVER_METRICS, SERVER_PREFIX } from './server-metric-table.ts'

/** The text of docs/apiserver-metrics.md. */
export function serverMetricsDocument(): string {
  return `${INTRODUCTION}\n${documentSection('Requests, caches, store', SERVER_PREFIX, SERVER_METRICS)}`
}

const INTRODUCTION = `# Metrics of the API server

<!-- Generated from src/apiserver/metrics; \`npx vitest run src/apiserver/metrics --update\` writes it anew. -->

Served by the API server itself under \`/metrics\`, in the Prometheus text format, beside \`process_*\`
and \`nodejs_*\` of the Prometheus client library. \`verb\` is GET, LIST, WATCH, POST, PUT, PATCH, DELETE
or DELETECOLLECTION; a metric with labels is absent until there is something to count.
`
