import { documentSection } from '../../telemetry/metrics/document.ts'
import { DNS_METRICS } from './dns-metric-table.ts'

/** The prefix of the names of orch-dns's metrics. */
export const DNS_PREFIX = 'orchdns_'

/** The text of docs/dns-metrics.md. */
export function dnsMetricsDocument(): string {
  return `${INTRODUCTION}\n${documentSection('Questions, answers, other servers', DNS_PREFIX, DNS_METRICS)}`
}

const INTRODUCTION = `# Metrics of names

<!-- Generated from src/dns/metrics; \`npx vitest run src/dns/metrics --update\` writes it anew. -->

orch-dns serves them under \`/metrics\`; orch-server with \`--dns-address\` too, and their names begin with
\`orchserver_dns_\` there.
`
