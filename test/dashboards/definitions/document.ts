import type { DashboardSpec, PanelSpec } from './dashboard.ts'

/** Seconds. */
const DAY = 86_400

/** The text of docs/dashboards.md: every panel of every dashboard. */
export function dashboardsDocument(dashboards: readonly DashboardSpec[]): string {
  return [INTRODUCTION, ...dashboards.map(section)].join('\n')
}

const INTRODUCTION = `# Dashboards

<!-- Generated from test/dashboards/definitions; \`npx vitest run test/dashboards --update\` writes it anew. -->

What each panel of [config/grafana](../config/grafana) answers, and what to do. How to import them, the recording rules and
the objectives: [operate/dashboards.md](operate/dashboards.md).
`

function section({ title, name, about, rows }: DashboardSpec): string {
  const panels = rows.flatMap((row) => row.panels.map((panel) => panelRow(row.title, panel)))
  return [
    `## ${title}`,
    '',
    `[config/grafana/${name}.json](../config/grafana/${name}.json). ${about}`,
    '',
    '| row | panel | it answers | what to do |',
    '|---|---|---|---|',
    ...panels,
    '',
  ].join('\n')
}

function panelRow(row: string, panel: PanelSpec): string {
  const { title, answers, remedy, page } = panel
  return `| ${row} | ${title} | ${answers}${redText(panel)} | ${remedy} [More](${page}) |`
}

function redText({ red, unit }: PanelSpec): string {
  if (red === undefined) return ''
  const text = (value: number): string => (unit === 's' ? durationText(value) : String(value))
  return 'from' in red ? ` Red from ${text(red.from)}.` : ` Red below ${text(red.below)}.`
}

function durationText(seconds: number): string {
  return seconds < DAY ? `${seconds} s` : `${seconds / DAY} days`
}
