import { html } from 'htm/preact'
import type { ClusterState } from '../../../cluster/cluster-state.ts'
import { type ClusterRoute, clusterHash, NODES } from '../../../route/cluster-route.ts'
import { formatCount, formatCountOf } from '../../../text/format.ts'
import { ThemeButton } from '../../parts/theme-button.ts'
import { useStore } from '../../parts/use-store.ts'

const EXPLAIN: ClusterRoute = {
  ...{ view: 'explain', node: '', source: '', destination: '' },
  ...{ protocol: '', inInterface: '' },
}

const LINKS: readonly (readonly [name: string, route: ClusterRoute])[] = [
  ['Nodes', NODES],
  ['Services', { view: 'services', service: '' }],
  ['Explain', EXPLAIN],
]

export interface ClusterHeaderProps {
  readonly state: ClusterState
  readonly view: ClusterRoute['view']
  readonly signOut: () => void
}

/** The ways to the views of the cluster, how many nodes answer, and the end of the session. */
export function ClusterHeader({ state, view, signOut }: ClusterHeaderProps) {
  const current = view === 'node' ? 'nodes' : view
  return html`<p class="brand">
      <img src="assets/icon.svg" width="20" height="20" alt="" /><strong>Cluster</strong>
    </p>
    <nav aria-label="Cluster">
      <ul>
        ${LINKS.map(
          ([name, route]) => html`<li key=${name}>
            <a href=${clusterHash(route)} aria-current=${currentOf(route.view === current, view)}>${name}</a>
          </li>`,
        )}
      </ul>
    </nav>
    <p class="readiness" role="status"><${Answering} state=${state} /></p>
    <${ThemeButton} />
    <button type="button" class="theme" onClick=${signOut}>Sign out</button>`
}

/** A view of a node is below the nodes, not the nodes themselves. */
function currentOf(isCurrent: boolean, view: ClusterRoute['view']): string | undefined {
  if (!isCurrent) return undefined
  return view === 'node' ? 'true' : 'page'
}

function Answering({ state }: { readonly state: ClusterState }) {
  const nodes = useStore(state.nodes)
  const readings = useStore(state.readings)
  if (nodes === undefined) return html`<span class="state busy">loading</span>`
  const silent = nodes.filter(({ metadata }) => readings.get(metadata.name)?.failure !== undefined)
  if (silent.length === 0)
    return html`<span class="why">${formatCountOf(nodes.length, 'node')}</span>`
  return html`<span class="state bad">${formatCount(silent.length)} of ${formatCountOf(nodes.length, 'node')} cannot be read</span>`
}
