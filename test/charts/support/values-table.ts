import { parse } from 'yaml'
import { type ChartName, chartText, type SchemaNode } from './chart-files.ts'

/** `<!-- values of node-proxy -->`, after which its table stands until the next empty line. */
const MARK = /(<!-- values of (node-proxy|orch-server) -->\n\n)(?:\|.*\n)*/g

/** Values whose fields stand in a table of another page. */
const ELSEWHERE: ReadonlySet<string> = new Set(['config', 'clusterDns.flags'])

/** The page with a table of the values of each chart, made from its schema and its defaults. */
export function documentWithTables(text: string): string {
  return text.replaceAll(
    MARK,
    (_, head: string, chart: string) => head + tableOf(chart as ChartName),
  )
}

function tableOf(chart: ChartName): string {
  const schema = JSON.parse(chartText(chart, 'values.schema.json')) as SchemaNode
  const values = parse(chartText(chart, 'values.yaml')) as unknown
  const rows = rowsOf(schema, values, []).map(
    ({ path, value, description }) =>
      `| \`${path}\` | \`${JSON.stringify(value)}\` | ${description.replaceAll('|', '\\|')} |\n`,
  )
  return ['| value | default | meaning |\n', '|---|---|---|\n', ...rows].join('')
}

interface Row {
  readonly path: string
  readonly value: unknown
  readonly description: string
}

function rowsOf(schema: SchemaNode, value: unknown, path: readonly string[]): readonly Row[] {
  const name = path.join('.')
  if (schema.properties !== undefined && !ELSEWHERE.has(name)) {
    return Object.entries(schema.properties)
      .filter(([key]) => path.length > 0 || key !== 'global')
      .flatMap(([key, property]) => rowsOf(property, field(value, key, name), [...path, key]))
  }
  return [{ path: name, value, description: schema.description ?? '' }]
}

/** Every value has a default, so that `helm show values` shows it. */
function field(value: unknown, key: string, path: string): unknown {
  if (typeof value === 'object' && value !== null && Object.hasOwn(value, key)) {
    return (value as Readonly<Record<string, unknown>>)[key]
  }
  throw new Error(`values.yaml has no ${path}.${key}`)
}
