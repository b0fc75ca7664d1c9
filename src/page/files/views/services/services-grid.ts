import { html } from 'htm/preact'
import { orderedBy } from '../../grid/order.ts'
import type { Selection } from '../../grid/selection.ts'
import { type SortKey, TEXTS } from '../../services/select-services.ts'
import type { ServiceRow } from '../../services/service-row.ts'
import { formatBytes, formatCount, formatRate } from '../../text/format.ts'
import type { Column } from '../grid/column.ts'
import { Grid } from '../grid/grid.ts'
import { useRouteHash } from '../parts/page-base.ts'
import { StateMark } from '../parts/state-mark.ts'
import { ServiceName } from './service-name.ts'

interface Props {
  readonly rows: readonly ServiceRow[]
  readonly selection: Selection<SortKey>
  readonly select: (selection: Selection<SortKey>) => void
  /** The Service whose details are shown. */
  readonly opened: string
  readonly isLoading: boolean
}

const COLUMNS: readonly (Column<ServiceRow> & { readonly key: SortKey })[] = [
  {
    ...{ key: 'service', name: 'Service', className: () => 'name' },
    show: ({ service }) => html`<${ServiceName} service=${service} />`,
    title: ({ service }) => service,
  },
  {
    ...{ key: 'status', name: 'State', title: ({ problem }) => problem },
    show: ({ status }) => html`<${StateMark} status=${status} />`,
  },
  { key: 'entries', name: 'Ports', isNumber: true, show: ({ entries }) => formatCount(entries) },
  {
    ...{ key: 'backends', name: 'Backends', isNumber: true },
    show: ({ backends }) => formatCount(backends),
    className: ({ backends }) => (backends === 0 ? 'none' : ''),
  },
  {
    ...{ key: 'connections', name: 'Connections/s', isNumber: true },
    show: ({ rates }) => formatRate(rates.connections),
  },
  {
    ...{ key: 'bytes', name: 'Traffic/s', isNumber: true },
    show: ({ rates }) => formatBytes(rates.bytes),
  },
]

/** The table of the Services of a node. */
export function ServicesGrid({ rows, selection, select, opened, isLoading }: Props) {
  const routeHash = useRouteHash()
  const props = {
    ...{ label: 'Services', name: 'services', columns: COLUMNS, rows, opened, isLoading },
    ...{ keyOf: ({ service }: ServiceRow) => service, order: selection, empty: 'No Service fits.' },
    sortBy: (key: SortKey) => select({ ...selection, ...orderedBy(selection, key, TEXTS) }),
    open: (service: string) => {
      location.hash = routeHash({ view: 'services', service })
    },
  }
  return html`<${Grid} ...${props} />`
}
