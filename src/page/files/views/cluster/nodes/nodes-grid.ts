import { html } from 'htm/preact'
import type { StatusMessage } from '../../../data/messages.ts'
import { orderedBy } from '../../../grid/order.ts'
import type { Selection } from '../../../grid/selection.ts'
import type { NodeRow } from '../../../nodes/node-row.ts'
import { firstWords, NODE_TEXTS, type NodeSortKey } from '../../../nodes/select-nodes.ts'
import { clusterHash } from '../../../route/cluster-route.ts'
import { formatCount, formatMs, NOTHING } from '../../../text/format.ts'
import type { Column } from '../../grid/column.ts'
import { Grid } from '../../grid/grid.ts'
import { NodeStateMark } from './node-state-mark.ts'
import { syncWords } from './sync-words.ts'

interface Props {
  readonly rows: readonly NodeRow[]
  readonly selection: Selection<NodeSortKey>
  readonly select: (selection: Selection<NodeSortKey>) => void
  /** The node whose details are shown. */
  readonly opened: string
  readonly isLoading: boolean
}

type NodeColumn = Column<NodeRow> & { readonly key: NodeSortKey }

const FIRST: readonly NodeColumn[] = [
  {
    ...{ key: 'name', name: 'Node', className: () => 'name' },
    show: ({ name }) => name,
    title: ({ name }) => name,
  },
  {
    ...{ key: 'state', name: 'State' },
    show: ({ state }) => html`<${NodeStateMark} state=${state} />`,
  },
  { key: 'problem', name: 'Look at', show: firstWords, title: allWords },
  { key: 'mode', name: 'Mode', show: ({ status }) => status?.mode ?? NOTHING },
  { key: 'waiting', name: 'Sync', show: ({ status }) => syncWords(status) },
]

const COLUMNS: readonly NodeColumn[] = [
  ...FIRST,
  numbers('p50', 'p50', (status) => formatMs(status.programming?.p50Ms)),
  numbers('p99', 'p99', (status) => formatMs(status.programming?.p99Ms)),
  numbers('drift', 'Drift', ({ driftRepaired }) => formatCount(Number(driftRepaired ?? 0))),
  numbers('services', 'Services', ({ services = 0 }) => formatCount(services)),
  numbers('entries', 'Ports', ({ entries = 0 }) => formatCount(entries)),
  {
    ...{ key: 'version', name: 'Version', title: ({ status }) => status?.version ?? '' },
    show: ({ status }) => status?.version ?? NOTHING,
  },
]

/** The table of nodes. */
export function NodesGrid({ rows, selection, select, opened, isLoading }: Props) {
  const props = {
    ...{ label: 'Nodes', name: 'nodes', columns: COLUMNS, rows, opened, isLoading },
    ...{ keyOf: ({ name }: NodeRow) => name, order: selection, empty: 'No node fits.' },
    sortBy: (key: NodeSortKey) =>
      select({ ...selection, ...orderedBy(selection, key, NODE_TEXTS) }),
    open: (node: string) => {
      location.hash = clusterHash({ view: 'nodes', node })
    },
  }
  return html`<${Grid} ...${props} />`
}

function numbers(
  key: NodeSortKey,
  name: string,
  show: (status: StatusMessage) => string,
): NodeColumn {
  const cell = ({ status }: NodeRow) => (status === undefined ? NOTHING : show(status))
  return { key, name, isNumber: true, show: cell }
}

function allWords({ problems, differences }: NodeRow): string {
  return [...problems, ...differences].join('\n')
}
