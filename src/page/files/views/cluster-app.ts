import { html } from 'htm/preact'
import { useCallback, useMemo, useState } from 'preact/hooks'
import {
  ALL_CLUSTER_SERVICES,
  CLUSTER_TEXTS,
  type ClusterServiceKey,
  type ClusterServiceRow,
  clusterServiceRows,
  selectClusterServices,
} from '../cluster/cluster-services.ts'
import { type ClusterState, listed } from '../cluster/cluster-state.ts'
import { findConnection } from '../cluster/find-connection.ts'
import { followStatuses } from '../cluster/follow-cluster.ts'
import { followServices, NO_SERVICES, type ServiceList } from '../cluster/follow-services.ts'
import { GRANT, type NodeFailure } from '../cluster/node-reading.ts'
import type { ClusterApi } from '../data/cluster-api.ts'
import type { ExplainQuery } from '../data/node-api.ts'
import { Store } from '../data/store.ts'
import {
  type ClusterExplainRoute,
  type ClusterRoute,
  clusterHash,
  NODES,
  nodePath,
  parseClusterRoute,
} from '../display/cluster-route.ts'
import { formatCount, formatCountOf, formatShown } from '../display/format.ts'
import type { Route } from '../display/route.ts'
import { orderedBy, type Selection } from '../display/selection.ts'
import { followNode } from '../node/follow-node.ts'
import { nodeState } from '../node/node-state.ts'
import { isProblem } from '../node/services.ts'
import { ExplainAnswer, ExplainForm } from './explain.ts'
import { PageBaseContext, SkipLink, View } from './frame.ts'
import { type Column, Grid, Toolbar } from './grid.ts'
import { NodeBrand, NodeLinks, Readiness } from './node-header.ts'
import { NodeViews } from './node-views.ts'
import { NodesView } from './nodes-view.ts'
import { ServiceName, StateMark } from './service-label.ts'
import { ServiceOverNodesDetail } from './service-over-nodes-detail.ts'
import { ThemeButton } from './theme.ts'
import { useFollowing, useHash, useStore } from './use-store.ts'

const COLUMNS: readonly (Column<ClusterServiceRow> & { readonly key: ClusterServiceKey })[] = [
  {
    key: 'service',
    name: 'Service',
    className: () => 'name',
    show: ({ service }) => html`<${ServiceName} service=${service} />`,
    title: ({ service }) => service,
  },
  {
    key: 'status',
    name: 'State',
    title: ({ problem }) => problem,
    show: ({ status }) => html`<${StateMark} status=${status} />`,
  },
  {
    key: 'nodes',
    name: 'Reported by',
    isNumber: true,
    show: ({ nodes }) => (nodes === 0 ? '' : formatCount(nodes)),
  },
  { key: 'entries', name: 'Ports', isNumber: true, show: ({ entries }) => formatCount(entries) },
  {
    key: 'backends',
    name: 'Backends',
    isNumber: true,
    show: ({ backends }) => formatCount(backends),
    className: ({ backends }) => (backends === 0 ? 'none' : ''),
  },
]

const EXPLAIN: ClusterRoute = {
  view: 'explain',
  node: '',
  source: '',
  destination: '',
  protocol: '',
  inInterface: '',
}

const LINKS: readonly (readonly [name: string, route: ClusterRoute])[] = [
  ['Nodes', NODES],
  ['Services', { view: 'services', service: '' }],
  ['Explain', EXPLAIN],
]

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

/** Why the Nodes cannot be listed, and what to do. */
function ListFailure({ failure: { message, status } }: { readonly failure: NodeFailure }) {
  if (status !== 403)
    return html`<p class="failure wide" role="alert">The Nodes cannot be listed: ${message}</p>`
  return html`<div class="failure wide" role="alert">
    <p>Your user may not list nodes: ${message}</p>
    <p>This gives the rights that the page needs, of an account or, with --user, of a user:</p>
    <pre><code>${GRANT}</code></pre>
  </div>`
}

interface NodePageProps {
  readonly api: ClusterApi
  readonly name: string
  readonly route: Route
  readonly header: ClusterHeaderProps
}

/** The page of one node, below the navigation of the cluster. */
function NodePage({ api, name, route, header }: NodePageProps) {
  const { node, state, base } = useMemo(
    () => ({
      node: api.node(name),
      state: nodeState(),
      base: { path: nodePath(name), title: name },
    }),
    [api, name],
  )
  useFollowing((signal) => followNode(node, state, document, signal), [node])
  return html`<${PageBaseContext.Provider} value=${base}>
    <${SkipLink} />
    <header>
      <${ClusterHeader} ...${header} />
      <div class="node-bar">
        <p class="brand">
          <a href=${clusterHash({ view: 'nodes', node: name })} aria-label=${`${name} among the nodes`}>Node</a>
          <${NodeBrand} state=${state} name=${name} />
        </p>
        <${NodeLinks} state=${state} view=${route.view} label="This node" />
        <${Readiness} state=${state} />
      </div>
    </header>
    <main id="main" tabindex="-1"><${NodeViews} api=${node} state=${state} route=${route} /></main>
  <//>`
}

interface ClusterHeaderProps {
  readonly state: ClusterState
  readonly view: ClusterRoute['view']
  readonly signOut: () => void
}

/** The links to the views of the cluster, how many nodes answer, and the button that signs out. */
function ClusterHeader({ state, view, signOut }: ClusterHeaderProps) {
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

/** The value of aria-current: a view of one node belongs to the nodes, but is not their page. */
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

interface ClusterExplainViewProps {
  readonly api: ClusterApi
  readonly state: ClusterState
  readonly route: ClusterExplainRoute
}

/** What happens to a packet in the cluster: the node on which it begins is found by its source, and explains it. */
function ClusterExplainView({ api, state, route }: ClusterExplainViewProps) {
  const [repeats, setRepeats] = useState(0)
  const { node } = route
  const explain = useCallback(
    async (query: ExplainQuery, signal: AbortSignal) => {
      const nodes = await listed(state, signal)
      const found = await findConnection(api, { ...query, node }, nodes, signal)
      const explanation = await api.node(found.node).explain(found.query, signal)
      return { explanation, foundWords: found.words }
    },
    [api, state, node],
  )
  const hashOf = (query: ExplainQuery, fields: FormData) =>
    clusterHash({ view: 'explain', ...query, node: fields.get('node') as string })
  return html`<${View} title="Explain" className="explain">
    <p class="lead">What the kernel of the node where a connection begins does with its first packet, and what node-proxy wants.</p>
    <${ExplainForm}
      query=${route}
      onRepeat=${() => setRepeats(repeats + 1)}
      hashOf=${hashOf}
      sourceHint="pod/namespace/name, an address, node/name"
      firstSource=""
    >
      <${NodeChoice} state=${state} chosen=${node} />
    <//>
    <${ExplainAnswer} query=${route} explain=${explain} repeats=${repeats} />
  <//>`
}

/** The node that explains: found by the source, or one of the list. */
function NodeChoice({ state, chosen }: { readonly state: ClusterState; readonly chosen: string }) {
  const nodes = useStore(state.nodes) ?? []
  const names = nodes.map(({ metadata }) => metadata.name)
  const listedNames = chosen === '' || names.includes(chosen) ? names : [chosen, ...names]
  return html`<label>
    <span>On node</span>
    <select name="node" key=${chosen} aria-describedby="node-hint">
      <option value="" selected=${chosen === ''}>of the source</option>
      ${listedNames.map((name) => html`<option key=${name} value=${name} selected=${name === chosen}>${name}</option>`)}
    </select>
    <small id="node-hint">where it arrives, if from outside</small>
  </label>`
}

interface ClusterServicesViewProps {
  readonly api: ClusterApi
  readonly state: ClusterState
  /** The Service whose details are shown; empty: none. */
  readonly service: string
}

/** The Services of the cluster, and one of them over all nodes. */
function ClusterServicesView({ api, state, service }: ClusterServicesViewProps) {
  const list = useServiceList(api, state)
  const { services } = list
  const readings = useStore(state.readings)
  const [selection, select] = useState<Selection<ClusterServiceKey>>(ALL_CLUSTER_SERVICES)
  const rows = useMemo(() => clusterServiceRows(services ?? [], readings), [services, readings])
  const shown = useMemo(() => selectClusterServices(rows, selection), [rows, selection])
  const problems = useMemo(() => rows.filter(isProblem).length, [rows])
  const isLoading = services === undefined
  return html`<${View} title="Services" className="table-view">
    <${Source} list=${list} />
    <${Toolbar}
      ...${{ selection, problems, name: 'Services' }}
      placeholder="Filter by namespace, name or state"
      select=${(change: Partial<Selection<ClusterServiceKey>>) => select({ ...selection, ...change })}
    />
    <p class="count" role="status">${formatShown('Service', shown.length, services?.length)}</p>
    <div class=${service === '' ? 'split' : 'split with-detail'}>
      <${ClusterServicesGrid} ...${{ rows: shown, selection, select, opened: service, isLoading }} />
      ${service === '' ? null : html`<${ServiceOverNodesDetail} key=${service} ...${{ api, state, service, close }} />`}
    </div>
  <//>`
}

function useServiceList(api: ClusterApi, state: ClusterState): ServiceList {
  const [list] = useState(() => new Store(NO_SERVICES))
  useFollowing(
    (signal) => {
      followStatuses(api, state, document, signal)
      followServices(api, { state, list, visibility: document, signal })
    },
    [api],
  )
  return useStore(list)
}

function Source({ list: { node, failure } }: { readonly list: ServiceList }) {
  if (failure !== '') return html`<p class="failure" role="alert">${failure}</p>`
  return html`<p class="lead">
    ${node === '' ? 'Looking for a node that answers…' : `As ${node} lists them, which has the newest state. A conflict or refusal that another node reports counts, too.`}
  </p>`
}

function close(): void {
  location.hash = clusterHash({ view: 'services', service: '' })
  document.querySelector<HTMLElement>('.grid')?.focus()
}

interface ClusterServicesGridProps {
  readonly rows: readonly ClusterServiceRow[]
  readonly selection: Selection<ClusterServiceKey>
  readonly select: (selection: Selection<ClusterServiceKey>) => void
  /** The Service whose details are shown. */
  readonly opened: string
  readonly isLoading: boolean
}

/** The table of the Services of the cluster. */
function ClusterServicesGrid({
  rows,
  selection,
  select,
  opened,
  isLoading,
}: ClusterServicesGridProps) {
  const props = {
    label: 'Services',
    name: 'cluster-services',
    columns: COLUMNS,
    rows,
    opened,
    isLoading,
    keyOf: ({ service }: ClusterServiceRow) => service,
    order: selection,
    sortBy: (key: ClusterServiceKey) =>
      select({ ...selection, ...orderedBy(selection, key, CLUSTER_TEXTS) }),
    open: (service: string) => {
      location.hash = clusterHash({ view: 'services', service })
    },
    empty: 'No Service matches.',
  }
  return html`<${Grid} ...${props} />`
}
