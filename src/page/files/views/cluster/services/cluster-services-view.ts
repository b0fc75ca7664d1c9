import { html } from 'htm/preact'
import { useMemo, useState } from 'preact/hooks'
import type { ClusterState } from '../../../cluster/cluster-state.ts'
import { followStatuses } from '../../../cluster/follow-cluster.ts'
import { followServices, NO_SERVICES, type ServiceList } from '../../../cluster/follow-services.ts'
import type { ClusterApi } from '../../../data/cluster-api.ts'
import { Store } from '../../../data/store.ts'
import type { Selection } from '../../../grid/selection.ts'
import { clusterHash } from '../../../route/cluster-route.ts'
import {
  ALL_CLUSTER_SERVICES,
  type ClusterServiceKey,
  clusterServiceRows,
  selectClusterServices,
} from '../../../service-nodes/cluster-service-row.ts'
import { isProblem } from '../../../services/select-services.ts'
import { formatShown } from '../../../text/format.ts'
import { View } from '../../parts/frame.ts'
import { Toolbar } from '../../parts/toolbar.ts'
import { useFollowing } from '../../parts/use-following.ts'
import { useStore } from '../../parts/use-store.ts'
import { ClusterServicesGrid } from './cluster-services-grid.ts'
import { ServiceOverNodesDetail } from './service-over-nodes-detail.ts'

interface Props {
  readonly api: ClusterApi
  readonly state: ClusterState
  /** Whose details are shown; empty: none. */
  readonly service: string
}

/** The Services of the cluster, and one of them over all nodes. */
export function ClusterServicesView({ api, state, service }: Props) {
  const list = useServiceList(api, state)
  const { services } = list
  const readings = useStore(state.readings)
  const [selection, select] = useState<Selection<ClusterServiceKey>>(ALL_CLUSTER_SERVICES)
  const rows = useMemo(() => clusterServiceRows(services ?? [], readings), [services, readings])
  const shown = useMemo(() => selectClusterServices(rows, selection), [rows, selection])
  const problems = useMemo(() => rows.filter(isProblem).length, [rows])
  const isLoading = services === undefined
  return html`<${View} title="Services" name="services">
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
