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

/** Whether a page of docs explains the metric, or that of which it is a series. */
export function isExplained(name: string): boolean {
  return explained.includes(`\`${name.replace(/_(?:bucket|count|sum)$/, '')}\``)
}
