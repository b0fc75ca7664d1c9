import { html } from 'htm/preact'
import type { StatusMessage } from '../data/messages.ts'
import type { NodeState } from '../node/node-state.ts'
import { type Route, routeHash, START } from '../route/route.ts'
import { type Theme, useTheme } from './parts/theme.ts'
import { useStore } from './parts/use-store.ts'
import { countProblems } from './problems-view.ts'

const EXPLAIN: Route = {
  ...{ view: 'explain', source: '', destination: '' },
  ...{ protocol: '', inInterface: '' },
}

const LINKS: readonly (readonly [name: string, route: Route])[] = [
  ['Services', START],
  ['Latency', { view: 'latency' }],
  ['Problems', { view: 'problems' }],
  ['Explain', EXPLAIN],
]

const THEMES: Readonly<Record<Theme, string>> = {
  system: 'system',
  light: 'light',
  dark: 'dark',
}

/** The name of the node, whether it works, and the ways to the views. */
export function Header({ state, view }: { state: NodeState; view: Route['view'] }) {
  const status = useStore(state.status)
  const failure = useStore(state.failure)
  const [theme, nextTheme] = useTheme()
  return html`<header>
    <p class="brand"><${Brand} status=${status} /></p>
    <nav aria-label="Views">
      <ul>
        ${LINKS.map(
          ([name, route]) => html`<li key=${name}>
            <a href=${routeHash(route)} aria-current=${route.view === view ? 'page' : undefined}>
              ${name}${route.view === 'problems' ? html`<${ProblemCount} status=${status} />` : null}
            </a>
          </li>`,
        )}
      </ul>
    </nav>
    <p class="readiness" role="status"><${Readiness} status=${status} failure=${failure} /></p>
    <button type="button" class="theme" onClick=${nextTheme}>
      Colours: ${THEMES[theme]}
    </button>
  </header>`
}

function Brand({ status }: { readonly status: StatusMessage | undefined }) {
  const { nodeName = '', mode = '', version = '' } = status ?? {}
  return html`<img src="assets/icon.svg" width="20" height="20" alt="" />
    <strong>${nodeName || 'node-proxy'}</strong>
    ${mode === '' ? null : html`<span class="mode">${mode}</span>`}
    ${version === '' ? null : html`<span class="version">${version}</span>`}`
}

function ProblemCount({ status }: { readonly status: StatusMessage | undefined }) {
  const count = countProblems(status)
  return count === 0 ? null : html` <span class="count">${count}</span>`
}

interface ReadinessProps {
  readonly status: StatusMessage | undefined
  readonly failure: string | undefined
}

function Readiness({ status, failure }: ReadinessProps) {
  if (failure !== undefined) {
    return html`<span class="state bad">no answer</span><span class="why">${failure}</span>`
  }
  if (status === undefined) return html`<span class="state busy">loading</span>`
  const { isReady = false, reasons = [] } = status
  if (isReady) return html`<span class="state good">ready</span>`
  return html`<span class="state bad">not ready</span><span class="why">${reasons[0] ?? ''}</span>`
}
