import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type AllResults, resultsPage } from './page.ts'
import { resultsText } from './results-text.ts'

/** The kinds of results, and the files that hold them. */
const FILES: Readonly<Record<keyof AllResults, string>> = {
  promise: 'results/promise.json',
  iptables: 'results/latest.json',
  ipvs: 'results/ipvs.json',
  nftables: 'results/nftables.json',
  userspace: 'results/userspace.json',
  apiserver: 'results/apiserver.json',
  auth: 'results/auth.json',
  dns: 'results/dns.json',
  inspection: 'results/inspection.json',
  browser: 'results/page.json',
  clusterPage: 'results/cluster-page.json',
  masquerade: 'results/masquerade.json',
  policy: 'results/policy.json',
}

/** The saved results of one kind; undefined: never measured. */
export function readResults<K extends keyof AllResults>(into: string, kind: K): AllResults[K] {
  const file = join(into, FILES[kind])
  if (!existsSync(file)) return undefined
  return JSON.parse(readFileSync(file, 'utf8')) as AllResults[K]
}

/** Saves results of one kind, and makes the page from all files. */
export function saveResults<K extends keyof AllResults>(
  into: string,
  kind: K,
  results: NonNullable<AllResults[K]>,
): void {
  const file = join(into, FILES[kind])
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, resultsText(results))
  const kinds = Object.keys(FILES) as readonly (keyof AllResults)[]
  const all = Object.fromEntries(kinds.map((one) => [one, readResults(into, one)]))
  writeFileSync(join(into, 'RESULTS.md'), resultsPage(all as unknown as AllResults))
}
