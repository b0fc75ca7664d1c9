import { html } from 'htm/preact'
import type { ClusterState } from '../../cluster/cluster-state.ts'
import type { ClusterApi } from '../../data/cluster-api.ts'
import { type ClusterRoute, parseClusterRoute } from '../../route/cluster-route.ts'
import { SkipLink } from '../parts/skip-link.ts'
import { useHash } from '../parts/use-hash.ts'
import { useStore } from '../parts/use-store.ts'
import { ClusterExplainView } from './explain/cluster-explain-view.ts'
import { ClusterHeader } from './header/cluster-header.ts'
import { ListFailure } from './list-failure.ts'
import { NodePage } from './node/node-page.ts'
import { NodesView } from './nodes/nodes-view.ts'
import { ClusterServicesView } from './services/cluster-services-view.ts'

interface Props {
  readonly api: ClusterApi
  readonly state: ClusterState
  readonly signOut: () => void
}

/** The cluster, for a reader who has signed in. */
export function ClusterApp({ api, state, signOut }: Props) {
  const route = parseClusterRoute(useHash())
  const failure = useStore(state.failure)
  const header = { state, signOut, view: route.view }
  if (route.view === 'node') {
    return html`<${NodePage} key=${route.node} ...${{ api, name: route.node, route: route.route, header }} />`
  }
  return html`<${SkipLink} />
    <header><${ClusterHeader} ...${header} /></header>
    <main id="main" tabindex="-1">
      ${failure === undefined ? null : html`<${ListFailure} failure=${failure} />`}
      <${ClusterView} api=${api} state=${state} route=${route} />
    </main>`
}

interface ViewProps extends Pick<Props, 'api' | 'state'> {
  readonly route: Exclude<ClusterRoute, { view: 'node' }>
}

function ClusterView({ api, state, route }: ViewProps) {
  switch (route.view) {
    case 'nodes':
      return html`<${NodesView} api=${api} state=${state} node=${route.node} />`
    case 'services':
      return html`<${ClusterServicesView} api=${api} state=${state} service=${route.service} />`
    case 'explain':
      return html`<${ClusterExplainView} api=${api} state=${state} route=${route} />`
  }
}
