import { html } from 'htm/preact'
import type { NodeApi } from '../data/node-api.ts'
import type { NodeState } from '../node/node-state.ts'
import { ExplainView } from './explain/explain-view.ts'
import { Header } from './header.ts'
import { LatencyView } from './latency/latency-view.ts'
import { useRoute } from './parts/use-route.ts'
import { ProblemsView } from './problems-view.ts'
import { ServicesView } from './services/services-view.ts'

/** One node, as a page. */
export function App({ api, state }: { readonly api: NodeApi; readonly state: NodeState }) {
  const route = useRoute()
  return html`<a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <${Header} state=${state} view=${route.view} />
    <main id="main" tabindex="-1">
      ${route.view === 'services' ? html`<${ServicesView} api=${api} state=${state} service=${route.service} />` : null}
      ${route.view === 'latency' ? html`<${LatencyView} state=${state} />` : null}
      ${route.view === 'problems' ? html`<${ProblemsView} state=${state} />` : null}
      ${route.view === 'explain' ? html`<${ExplainView} api=${api} route=${route} />` : null}
    </main>`
}

/** The fragment is the route, so the focus moves without it. */
function skip(event: Event): void {
  event.preventDefault()
  document.querySelector<HTMLElement>('#main')?.focus()
}
