import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../on-demand/root.ts'

const FOLDER = join(root, 'config/grafana')

/** The parts of Grafana's model that tests read. */
export interface GrafanaDashboard {
  readonly uid: string
  readonly title: string
  readonly schemaVersion: number
  readonly links: readonly GrafanaLink[]
  readonly panels: readonly GrafanaPanel[]
  readonly templating: { readonly list: readonly GrafanaVariable[] }
}

export interface GrafanaLink {
  readonly title: string
  readonly url: string
}

export interface GrafanaVariable {
  readonly name: string
  readonly type: string
  readonly query: string | { readonly query: string }
  readonly allValue?: string
}

export interface GrafanaPanel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly gridPos: {
    readonly x: number
    readonly y: number
    readonly w: number
    readonly h: number
  }
  readonly links?: readonly GrafanaLink[]
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } }
  readonly targets?: readonly { readonly refId: string; readonly expr: string }[]
}

/** The dashboards of config/grafana by the names of their files. */
export function readDashboards(): readonly (readonly [file: string, GrafanaDashboard])[] {
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith('.json'))
    .map((name) => [name, JSON.parse(readFileSync(join(FOLDER, name), 'utf8')) as GrafanaDashboard])
}

/** An expression of a panel with values for the variables of its dashboard, `.*` for those that are not named. */
export function substitute(expr: string, values: Readonly<Record<string, string>> = {}): string {
  return expr
    .replaceAll('$__rate_interval', values['__rate_interval'] ?? '1m')
    .replaceAll(/\$(\w+)/g, (_, name: string) => values[name] ?? '.*')
}
