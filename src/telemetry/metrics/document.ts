import { METRIC_SECTIONS, type MetricRows, PREFIX } from './registry.ts'

/** The text of docs/metrics.md. */
export function metricsDocument(): string {
  const sections = Object.entries(METRIC_SECTIONS).map(([title, metrics]) =>
    documentSection(title, PREFIX, metrics),
  )
  return `${INTRODUCTION}\n${sections.join('\n')}\n${CONCLUSION}`
}

const INTRODUCTION = `# Metrics

<!-- Generated from src/telemetry/metrics; \`npx vitest run src/telemetry --update\` writes it anew. -->

Served at \`metricsBindAddress\` (127.0.0.1:10249 by default) under \`/metrics\`, in the Prometheus text
format. Names start with \`nodeproxy_\`; the part after it and the meaning are those that kube-proxy's
dashboards and alerts know, wherever it has the same figure. \`ip_family\` is \`IPv4\` or \`IPv6\`. A metric
with labels is absent until there is something to count.
`

const CONCLUSION = `## Runtime

\`process_*\` (CPU, memory, open files, start time) and \`nodejs_*\` (heap, garbage collection, handles,
version) come from the Prometheus client library under its usual names, without the prefix.

kube-proxy's metrics of its nftables mode (\`…nftables_sync_failures_total\`,
\`…nftables_cleanup_failures_total\`) have no counterpart here: failures of every mode
are counted by the same metrics.
`

/** One heading of a documentation page, with a row for each metric. */
export function documentSection(title: string, prefix: string, metrics: MetricRows): string {
  const rows = Object.values(metrics).map(
    ({ name, type, labels, help }) =>
      `| \`${prefix}${name}\` | ${type} | ${labels.join(', ')} | ${help} |`,
  )
  return `## ${title}\n\n| name | type | labels | meaning |\n|---|---|---|---|\n${rows.join('\n')}\n`
}
