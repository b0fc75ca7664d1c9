import { html } from 'htm/preact'
import { orderedBy } from '../../../grid/order.ts'
import type { Selection } from '../../../grid/selection.ts'
import { clusterHash } from '../../../route/cluster-route.ts'
import {
  CLUSTER_TEXTS,
  type ClusterServiceKey,
  type ClusterServiceRow,
} from '../../../service-nodes/cluster-service-row.ts'
import { formatCount } from '../../../text/format.ts'
import type { Column } from '../../grid/column.ts'
import { Grid } from '../../grid/grid.ts'
import { StateMark } from '../../parts/state-mark.ts'
import { ServiceName } from '../../services/service-name.ts'

interface Props {
  readonly rows: readonly ClusterServiceRow[]
  readonly selection: Selection<ClusterServiceKey>
  readonly select: (selection: Selection<ClusterServiceKey>) => void
  /** The Service whose details are shown. */
  readonly opened: string
  readonly isLoading: boolean
}

const COLUMNS: readonly (Column<ClusterServiceRow> & { readonly key: ClusterServiceKey })[] = [
  {
    ...{ key: 'service', name: 'Service', className: () => 'name' },
    show: ({ service }) => html`<${ServiceName} service=${service} />`,
    title: ({ service }) => service,
  },
  {
    ...{ key: 'status', name: 'State', title: ({ problem }) => problem },
    show: ({ status }) => html`<${StateMark} status=${status} />`,
  },
  {
    ...{ key: 'nodes', name: 'Reported by', isNumber: true },
    show: ({ nodes }) => (nodes === 0 ? '' : formatCount(nodes)),
  },
  { key: 'entries', name: 'Ports', isNumber: true, show: ({ entries }) => formatCount(entries) },
  {
    ...{ key: 'backends', name: 'Backends', isNumber: true },
    show: ({ backends }) => formatCount(backends),
    className: ({ backends }) => (backends === 0 ? 'none' : ''),
  },
]

/** The table of the Services of the cluster. */
export function ClusterServicesGrid({ rows, selection, select, opened, isLoading }: Props) {
  const props = {
    ...{ label: 'Services', name: 'cluster-services', columns: COLUMNS, rows, opened, isLoading },
    ...{ keyOf: ({ service }: ClusterServiceRow) => service, order: selection },
    sortBy: (key: ClusterServiceKey) =>
      select({ ...selection, ...orderedBy(selection, key, CLUSTER_TEXTS) }),
    open: (service: string) => {
      location.hash = clusterHash({ view: 'services', service })
    },
    empty: 'No Service fits.',
  }
  return html`<${Grid} ...${props} />`
}
