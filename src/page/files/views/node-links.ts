import { html } from 'htm/preact'
import { countProblems, type NodeState } from '../node/node-state.ts'
import { type Route, START } from '../route/route.ts'
import { useRouteHash } from './parts/frame.ts'
import { useStore } from './parts/use-store.ts'

const EXPLAIN: Route = {
  view: 'explain',
  source: '',
  destination: '',
  protocol: '',
  inInterface: '',
}

const LINKS: readonly (readonly [name: string, route: Route])[] = [
  ['Services', START],
  ['Latency', { view: 'latency' }],
  ['Problems', { view: 'problems' }],
  ['Explain', EXPLAIN],
]

interface Props {
  readonly state: NodeState
  readonly view: Route['view']
  /** For a screen reader. */
  readonly label: string
}

/** The links to the views of a node. */
export function NodeLinks({ state, view, label }: Props) {
  const count = countProblems(useStore(state.status))
  const routeHash = useRouteHash()
  return html`<nav aria-label=${label}>
    <ul>
      ${LINKS.map(
        ([name, route]) => html`<li key=${name}>
          <a href=${routeHash(route)} aria-current=${route.view === view ? 'page' : undefined}>
            ${name}${route.view === 'problems' && count > 0 ? html` <span class="count">${count}</span>` : null}
          </a>
        </li>`,
      )}
    </ul>
  </nav>`
}
