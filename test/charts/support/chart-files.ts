import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { SETTINGS_TABLE as NODE_PROXY } from '../../../src/nodeproxy/config/settings-table.ts'
import { SETTINGS_TABLE as ORCH_DNS } from '../../../src/orchdns/program.ts'
import { SETTINGS_TABLE as ORCH_SERVER } from '../../../src/orchserver/config/settings-table.ts'
import { configurationSchema, flagsSchema } from '../../../src/settings/json-schema.ts'
import { root } from '../../support/on-demand/root.ts'

export type ChartName = 'node-proxy' | 'orch-server'

/** A part of a JSON Schema. */
export interface SchemaNode {
  readonly description?: string
  readonly properties?: Readonly<Record<string, SchemaNode>>
}

/** `charts/NAME/PATH` below the checkout. */
export function chartPath(chart: ChartName, ...path: readonly string[]): string {
  return join(root, 'charts', chart, ...path)
}

/** The text of `charts/NAME/PATH`. */
export function chartText(chart: ChartName, ...path: readonly string[]): string {
  return readFileSync(chartPath(chart, ...path), 'utf8')
}

/** The text of a file of the checkout. */
export function projectText(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

/** A file of `config` that a chart has, too, because helm reads no file outside of a chart. */
export interface ChartCopy {
  /** From the root of the checkout. */
  readonly source: string
  readonly chart: ChartName
  /** In the folder `files` of the chart. */
  readonly file: string
}

const OF_ORCH_SERVER: ReadonlySet<string> = new Set(['orch-server-alerts.yaml', 'api-server.json'])

/** The rules of `config/prometheus` and the dashboards of `config/grafana`, each with the chart of its program. */
export function chartCopies(): readonly ChartCopy[] {
  const rules = globSync('config/prometheus/*{alerts,rules}.yaml', { cwd: root })
  const dashboards = globSync('config/grafana/*.json', { cwd: root })
  return [
    ...rules.map((source) => copyOf(source, 'rules')),
    ...dashboards.map((source) => copyOf(source, 'dashboards')),
  ].toSorted((a, b) => (a.source < b.source ? -1 : 1))
}

function copyOf(source: string, folder: string): ChartCopy {
  const name = basename(source)
  const chart = OF_ORCH_SERVER.has(name) ? 'orch-server' : 'node-proxy'
  return { source, chart, file: `${folder}/${name}` }
}

/**
 * The `values.schema.json` of a chart: what is written by hand in it, with the fields of the programs' configurations
 * as the programs declare them.
 */
export function valuesSchema(chart: ChartName): string {
  const schema = JSON.parse(chartText(chart, 'values.schema.json')) as Schema
  const { properties } = schema
  if (chart === 'orch-server')
    properties['config'] = { description: SERVER, ...configurationSchema(ORCH_SERVER) }
  else {
    properties['config'] = { description: DAEMON, ...configurationSchema(NODE_PROXY) }
    properties['clusterDns']!.properties!['flags'] = { description: DNS, ...flagsSchema(ORCH_DNS) }
  }
  return `${JSON.stringify(schema, null, 2)}\n`
}

const DAEMON = 'The file NodeProxyConfiguration: every field of docs/operate/configuration.md.'
const SERVER =
  'The file OrchServerConfiguration: every field of docs/operate/orch-server.md. The names of the Service are added to tls.extraNames.'
const DNS =
  'Settings of orch-dns by their flags, without the dashes: those of docs/operate/dns.md. dns-address and dns-server-address follow from port and clusterIPs.'

interface Schema {
  readonly properties: Record<string, Mutable>
}

interface Mutable {
  readonly description?: string
  readonly properties?: Record<string, Mutable>
}

/** The paths of settings that a running node-proxy does not take over, one in each line. */
export function restartSettings(): string {
  const paths = NODE_PROXY.entries.flatMap(([path, { reload }]) =>
    reload === 'live' ? [] : [path],
  )
  return `${paths.join('\n')}\n`
}
