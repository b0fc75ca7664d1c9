import type { MetricRows } from './registry.ts'

/** One heading of a documentation page, with a row for each metric. */
export function documentSection(title: string, prefix: string, metrics: MetricRows): string {
  const rows = Object.values(metrics).map(
    ({ name, type, labels, help }) =>
      `| \`${prefix}${name}\` | ${type} | ${labels.join(', ')} | ${help} |`,
  )
  return `## ${title}\n\n| name | type | labels | meaning |\n|---|---|---|---|\n${rows.join('\n')}\n`
}
