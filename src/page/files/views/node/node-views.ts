import { html } from 'htm/preact'
import type { NodeApi } from '../../data/node-api.ts'
import type { NodeState } from '../../node/node-state.ts'
import type { Route } from '../../route/route.ts'
import { ExplainView } from '../explain/explain-view.ts'
import { LatencyView } from '../latency/latency-view.ts'
import { ProblemsView } from '../problems/problems-view.ts'
import { ServicesView } from '../services/services-view.ts'

interface Props {
  readonly api: NodeApi
  readonly state: NodeState
  readonly route: Route
}

/** The view of a node that a route names. */
export function NodeViews({ api, state, route }: Props) {
  switch (route.view) {
    case 'services':
      return html`<${ServicesView} api=${api} state=${state} service=${route.service} />`
    case 'latency':
      return html`<${LatencyView} state=${state} />`
    case 'problems':
      return html`<${ProblemsView} state=${state} />`
    case 'explain':
      return html`<${ExplainView} api=${api} route=${route} />`
  }
}
