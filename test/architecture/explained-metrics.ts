import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './source-file.ts'

const docs = join(root, 'docs')
const explained = readdirSync(docs)
  .filter((page) => page.endsWith('metrics.md'))
  .map((page) => readFileSync(join(docs, page), 'utf8'))
  .join('\n')

/** How the names of our metrics begin, as a part of a regular expression. */
export const METRIC_PREFIX = '(?:nodeproxy|apiserver|workqueue|controller|orchserver|orchdns)_'

/** Metrics of the client library and of Prometheus itself, which are used but have no row of their own. */
const FOREIGN: Readonly<Record<string, readonly string[]>> = {
  up: [],
  ALERTS: ['alertname', 'alertstate'],
  process_cpu_seconds_total: [],
  process_resident_memory_bytes: [],
  process_open_fds: [],
  process_max_fds: [],
  nodejs_heap_size_used_bytes: [],
}

const rows = new Map(
  [...explained.matchAll(/^\| `(\w+)` \| (\w+) \| ([^|]*) \|/gm)].map(
    ([, name = '', type = '', labels = '']) => [
      name,
      { type, labels: labels.trim() === '' ? [] : labels.trim().split(', ') },
    ],
  ),
)

/** The labels that a page of docs gives to the metric, or to that of which it is a series; undefined: none has it. */
export function explainedLabels(name: string): readonly string[] | undefined {
  const own = name.replace(/^orchserver_dns_/, 'orchdns_')
  const base = own.replace(/_(?:bucket|count|sum)$/, '')
  const row = rows.get(own) ?? rows.get(base)
  if (row === undefined) return FOREIGN[name]
  return row.type === 'histogram' && name.endsWith('_bucket') ? [...row.labels, 'le'] : row.labels
}

/** Whether a page of docs explains the metric, or that of which it is a series. */
export function isExplained(name: string): boolean {
  return explained.includes(`\`${name.replace(/_(?:bucket|count|sum)$/, '')}\``)
}
