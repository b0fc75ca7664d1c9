import { html } from 'htm/preact'
import type { NodeApi } from '../data/node-api.ts'
import type { NodeState } from '../node/node-state.ts'
import { parseRoute } from '../route/route.ts'
import { Header } from './header.ts'
import { NodeViews } from './node/node-views.ts'
import { SkipLink } from './parts/skip-link.ts'
import { useHash } from './parts/use-hash.ts'

/** One node, as a page. */
export function App({ api, state }: { readonly api: NodeApi; readonly state: NodeState }) {
  const route = parseRoute(useHash())
  return html`<${SkipLink} />
    <${Header} state=${state} view=${route.view} />
    <main id="main" tabindex="-1"><${NodeViews} api=${api} state=${state} route=${route} /></main>`
}
