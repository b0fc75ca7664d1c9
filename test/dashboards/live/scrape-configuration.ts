import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import type { ScrapeCredentials } from '../../support/prometheus/monitoring-user.ts'
import { PROMETHEUS_FOLDER } from '../../support/prometheus/rule-files.ts'

interface ScrapeConfig {
  readonly job_name: string
  readonly tls_config?: ScrapeCredentials
}

interface PrometheusConfig {
  readonly global: Readonly<Record<string, string>>
  readonly rule_files: readonly string[]
  readonly scrape_configs: readonly ScrapeConfig[]
}

export interface Scraped {
  /** Addresses by job. */
  readonly targets: Readonly<Record<string, readonly string[]>>
  /** The value of the label `cluster` of all targets. */
  readonly cluster: string
  readonly credentials: ScrapeCredentials
}

/**
 * Writes config/prometheus into a folder: other targets and credentials, every interval a second. Returns the path of the
 * configuration.
 */
export function writeScrapeConfiguration(folder: string, scraped: Scraped): string {
  cpSync(PROMETHEUS_FOLDER, folder, { recursive: true })
  const path = join(folder, 'prometheus.yaml')
  const config = parse(readFileSync(path, 'utf8')) as PrometheusConfig
  for (const file of config.rule_files) shortenIntervals(join(folder, file))
  writeFileSync(path, stringify(scratchConfiguration(config, scraped)))
  return path
}

function scratchConfiguration(
  config: PrometheusConfig,
  { targets, cluster, credentials }: Scraped,
): PrometheusConfig {
  const scrape_configs = Object.entries(targets).map(([job_name, addresses]) => {
    const own = config.scrape_configs.find((one) => one.job_name === job_name)
    return {
      ...own,
      job_name,
      static_configs: [{ targets: addresses, labels: { cluster } }],
      ...(own?.tls_config !== undefined && { tls_config: credentials }),
    }
  })
  const global = { ...config.global, scrape_interval: '1s', evaluation_interval: '1s' }
  return { ...config, global, scrape_configs }
}

function shortenIntervals(path: string): void {
  const text = readFileSync(path, 'utf8')
  writeFileSync(path, text.replaceAll(/^( +interval:) .+$/gm, '$1 1s'))
}
