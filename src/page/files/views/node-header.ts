import { html } from 'htm/preact'
import { type Route, START } from '../display/route.ts'
import { countProblems, type NodeState } from '../node/node-state.ts'
import { useRouteHash } from './frame.ts'
import { useStore } from './use-store.ts'

interface BrandProps {
  readonly state: NodeState
  /** Shown until the node has answered with its own name. */
  readonly name: string
}

/** The name of a node, its mode and its version. */
export function NodeBrand({ state, name }: BrandProps) {
  const { nodeName = '', mode = '', version = '' } = useStore(state.status) ?? {}
  return html`<strong>${nodeName || name}</strong>
    ${mode === '' ? null : html`<span class="mode">${mode}</span>`}
    ${version === '' ? null : html`<span class="version">${version}</span>`}`
}

/** Whether a node works, and why not. */
export function Readiness({ state }: { readonly state: NodeState }) {
  return html`<p class="readiness" role="status"><${ReadinessWords} state=${state} /></p>`
}

function ReadinessWords({ state }: { readonly state: NodeState }) {
  const status = useStore(state.status)
  const failure = useStore(state.failure)
  if (failure !== undefined) {
    return html`<span class="state bad">no answer</span><span class="why" title=${failure}>${failure}</span>`
  }
  if (status === undefined) return html`<span class="state busy">loading</span>`
  const { isReady = false, reasons = [] } = status
  if (isReady) return html`<span class="state good">ready</span>`
  return html`<span class="state bad">not ready</span><span class="why">${reasons[0] ?? ''}</span>`
}

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

interface LinksProps {
  readonly state: NodeState
  readonly view: Route['view']
  /** For a screen reader. */
  readonly label: string
}

/** The links to the views of a node. */
export function NodeLinks({ state, view, label }: LinksProps) {
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
