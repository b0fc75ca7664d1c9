/** What a dashboard shows. `grafanaJson` turns it into Grafana's model, `document.ts` into a page. */
export interface DashboardSpec {
  /** The name of its file, and the end of its address in Grafana. */
  readonly name: string
  readonly title: string
  /** What it answers, as one sentence. */
  readonly about: string
  /** The variables by which its queries are filtered, beside the data source and the cluster. */
  readonly variables: readonly VariableSpec[]
  readonly rows: readonly RowSpec[]
}

/** A variable whose values are those of a label. */
export interface VariableSpec {
  readonly name: string
  readonly label: string
  /** `label_values(METRIC, LABEL)`. */
  readonly query: string
}

export interface RowSpec {
  readonly title: string
  readonly panels: readonly PanelSpec[]
}

export interface PanelSpec {
  readonly title: string
  /** `stat`: one number, or one for each series; `lines`: over time. */
  readonly kind: 'stat' | 'lines'
  /** The question that it answers. */
  readonly answers: string
  /** What to do when it is red, or unusual where nothing is red. */
  readonly remedy: string
  /** Of Grafana's units: `s`, `percentunit`, `ops`, … */
  readonly unit: string
  readonly queries: readonly QuerySpec[]
  /** From when on a value is red. */
  readonly red?: { readonly from: number } | { readonly below: number }
  /** Texts for values. */
  readonly names?: Readonly<Record<number, string>>
  /** What stands there without any series. */
  readonly empty?: string
  /** Whether a stat shows the names of its series instead of their values. */
  readonly showsNames?: boolean
  /** A page of `docs` with the remedy: `operate/dns.md#who-is-answered`. */
  readonly page: string
}

export interface QuerySpec {
  readonly expr: string
  /** `{{instance}}` is the value of that label. */
  readonly legend: string
}

/** Grafana 9.0. Later versions read it and convert it. */
const SCHEMA_VERSION = 36
const COLUMNS = 24
const STAT = { w: 4, h: 4 }
const LINES = { w: 12, h: 8 }
/** Where a reader has the pages of `docs`; the operator sets it. */
const DOCS_ADDRESS = 'https://docs.example.com/node-proxy'
const ALL = { text: 'All', value: '$__all' }
const DATA_SOURCE = { type: 'prometheus', uid: '${datasource}' }
export const TAG = 'node-proxy'

/** The JSON of a dashboard, as Grafana imports it. */
export function grafanaJson(spec: DashboardSpec): string {
  return `${JSON.stringify(grafanaModel(spec), undefined, 2)}\n`
}

function grafanaModel({ name, title, about, variables, rows }: DashboardSpec) {
  return {
    uid: `node-proxy-${name}`,
    title,
    description: about,
    tags: [TAG],
    schemaVersion: SCHEMA_VERSION,
    version: 1,
    editable: true,
    graphTooltip: 1,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    timezone: '',
    links: [
      {
        title: 'The other dashboards',
        type: 'dashboards',
        tags: [TAG],
        asDropdown: true,
        includeVars: true,
        keepTime: true,
        targetBlank: false,
        icon: 'external link',
        tooltip: '',
        url: '',
      },
      docsLink('What each panel answers', 'dashboards.md'),
    ],
    annotations: { list: [] },
    templating: { list: [DATA_SOURCE_VARIABLE, ...[CLUSTER, ...variables].map(variable), DOCS] },
    panels: placed(rows),
  }
}

const CLUSTER: VariableSpec = {
  name: 'cluster',
  label: 'Cluster',
  query: 'label_values(up{job=~"node-proxy|orch-server|orch-dns"}, cluster)',
}

const DATA_SOURCE_VARIABLE = {
  name: 'datasource',
  label: 'Data source',
  type: 'datasource',
  query: 'prometheus',
  hide: 0,
  includeAll: false,
  multi: false,
  refresh: 1,
  regex: '',
  options: [],
}

const DOCS = {
  name: 'docs',
  label: 'Address of the documentation',
  type: 'textbox',
  query: DOCS_ADDRESS,
  current: { text: DOCS_ADDRESS, value: DOCS_ADDRESS },
  hide: 2,
  options: [],
}

/** `.*` for all values also selects series without the label, such as `cluster` where there is one. */
function variable({ name, label, query }: VariableSpec) {
  return {
    name,
    label,
    type: 'query',
    datasource: DATA_SOURCE,
    definition: query,
    query: { query, refId: name },
    refresh: 2,
    sort: 1,
    includeAll: true,
    multi: true,
    allValue: '.*',
    current: ALL,
    hide: 0,
    regex: '',
    options: [],
  }
}

function docsLink(title: string, page: string) {
  const url = `\${docs}/${page}`
  return { title, type: 'link', url, targetBlank: true, icon: 'doc', tooltip: '', tags: [] }
}

/** The panels of all rows with their places: from left to right, each row below the one before. */
function placed(rows: readonly RowSpec[]): readonly object[] {
  const panels: object[] = []
  let top = 0
  for (const row of rows) {
    const at = { x: 0, y: top, w: COLUMNS, h: 1 }
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title: row.title,
      collapsed: false,
      gridPos: at,
      panels: [],
    })
    let [x, y, height] = [0, top + 1, 0]
    for (const panel of row.panels) {
      const { w, h } = panel.kind === 'stat' ? STAT : LINES
      if (x + w > COLUMNS) [x, y, height] = [0, y + height, 0]
      panels.push(panelModel(panel, panels.length + 1, { x, y, w, h }))
      x += w
      height = Math.max(height, h)
    }
    top = y + height
  }
  return panels
}

interface GridPos {
  readonly x: number
  readonly y: number
  readonly w: number
  readonly h: number
}

function panelModel(panel: PanelSpec, id: number, gridPos: GridPos) {
  const { title, kind, answers, remedy, page } = panel
  return {
    id,
    type: kind === 'stat' ? 'stat' : 'timeseries',
    title,
    description: `${answers}\n\n${remedy}`,
    datasource: DATA_SOURCE,
    gridPos,
    links: [docsLink(`More: ${page}`, page)],
    fieldConfig: { defaults: fieldDefaults(panel), overrides: [] },
    options: kind === 'stat' ? statOptions(panel) : LINES_OPTIONS,
    targets: panel.queries.map((query, index) => target(query, index, kind)),
  }
}

function target({ expr, legend }: QuerySpec, index: number, kind: PanelSpec['kind']) {
  const isInstant = kind === 'stat'
  return {
    refId: String.fromCharCode('A'.charCodeAt(0) + index),
    datasource: DATA_SOURCE,
    editorMode: 'code',
    expr,
    legendFormat: legend,
    instant: isInstant,
    range: !isInstant,
  }
}

function fieldDefaults({ kind, unit, red, names, empty }: PanelSpec) {
  const options = Object.entries(names ?? {}).map(([value, text]) => [value, { text }])
  return {
    unit,
    color: { mode: kind === 'stat' ? 'thresholds' : 'palette-classic' },
    thresholds: { mode: 'absolute', steps: thresholdSteps(red) },
    mappings: options.length === 0 ? [] : [{ type: 'value', options: Object.fromEntries(options) }],
    ...(empty === undefined ? {} : { noValue: empty }),
    ...(kind === 'lines' && { min: 0, custom: linesStyle(red) }),
  }
}

function thresholdSteps(red: PanelSpec['red']) {
  if (red === undefined) return [{ color: 'green', value: null }]
  const [color, other, value] =
    'from' in red ? ['green', 'red', red.from] : ['red', 'green', red.below]
  return [
    { color, value: null },
    { color: other, value },
  ]
}

function linesStyle(red: PanelSpec['red']) {
  return {
    drawStyle: 'line',
    lineWidth: 1,
    fillOpacity: 8,
    showPoints: 'never',
    spanNulls: false,
    thresholdsStyle: { mode: red === undefined ? 'off' : 'line' },
  }
}

function statOptions({ showsNames }: PanelSpec) {
  return {
    reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
    colorMode: 'value',
    graphMode: 'none',
    justifyMode: 'auto',
    orientation: 'auto',
    textMode: showsNames === true ? 'name' : 'auto',
  }
}

const LINES_OPTIONS = {
  legend: {
    displayMode: 'table',
    placement: 'bottom',
    calcs: ['lastNotNull', 'max'],
    showLegend: true,
  },
  tooltip: { mode: 'multi', sort: 'desc' },
}
