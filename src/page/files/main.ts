import { html, render } from 'htm/preact'
import { Connection } from './data/connection.ts'
import { type NodeApi, nodeApi } from './data/node-api.ts'
import { parseRoute, type Route } from './display/route.ts'
import { followNode } from './node/follow-node.ts'
import { type NodeState, nodeState } from './node/node-state.ts'
import { SkipLink } from './views/frame.ts'
import { NodeBrand, NodeLinks, Readiness } from './views/node-header.ts'
import { NodeViews } from './views/node-views.ts'
import { ThemeButton } from './views/theme.ts'
import { useHash } from './views/use-store.ts'

const parent = document.querySelector<HTMLElement>('#page')
if (parent !== null) {
  const api = nodeApi(new Connection({ base: 'inspection/v1/' }))
  const state = nodeState()
  const closed = new AbortController()
  addEventListener('pagehide', () => closed.abort())
  // A page that the browser restores from its history is loaded anew.
  addEventListener('pageshow', ({ persisted }) => (persisted ? location.reload() : undefined))
  followNode(api, state, document, closed.signal)
  render(html`<${App} api=${api} state=${state} />`, parent)
}

/** One node, as a page. */
function App({ api, state }: { readonly api: NodeApi; readonly state: NodeState }) {
  const route = parseRoute(useHash())
  return html`<${SkipLink} />
    <${Header} state=${state} view=${route.view} />
    <main id="main" tabindex="-1"><${NodeViews} api=${api} state=${state} route=${route} /></main>`
}

/** The name of the node, whether it works, and the links to the views. */
function Header({ state, view }: { state: NodeState; view: Route['view'] }) {
  return html`<header>
    <p class="brand">
      <img src="assets/icon.svg" width="20" height="20" alt="" />
      <${NodeBrand} state=${state} name="node-proxy" />
    </p>
    <${NodeLinks} state=${state} view=${view} label="Views" />
    <${Readiness} state=${state} />
    <${ThemeButton} />
  </header>`
}
