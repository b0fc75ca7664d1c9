import type { PanelSpec } from './dashboard.ts'
import { CLUSTER as C } from './queries.ts'

/** What is left of the error budgets whose names match a regular expression. */
export function budgetPanel(slos: string): PanelSpec {
  return {
    title: 'Error budgets: what is left',
    kind: 'stat',
    answers: 'Which share of the errors that the objective allows in thirty days is not used yet.',
    remedy:
      'Red: the objective is missed. The burn rate shows whether it goes on; the page has the first steps for each objective.',
    unit: 'percentunit',
    red: { below: 0 },
    queries: [
      {
        expr: `cluster_slo:slo_error_budget_remaining:ratio_rate30d{${C},slo=~"${slos}"}`,
        legend: '{{slo}}',
      },
    ],
    page: 'operate/dashboards.md#objectives',
  }
}

/** How fast error budgets are used. */
export function burnRatePanel(slos: string): PanelSpec {
  return {
    title: 'Error budgets: burn rate',
    kind: 'lines',
    answers:
      'How many times as fast as allowed the error budget was used within the last hour: at 1 it lasts thirty days.',
    remedy:
      'Red: two percent of the budget within an hour. The alert ErrorBudgetBurnsFast fires while the last five minutes are red, too.',
    unit: 'none',
    red: { from: 14.4 },
    queries: [
      {
        expr: `cluster_slo:slo_errors_per_events:ratio_rate1h{${C},slo=~"${slos}"} / on (slo) group_left () slo:slo_error_budget:ratio`,
        legend: '{{cluster}} {{slo}}',
      },
    ],
    page: 'operate/dashboards.md#objectives',
  }
}
