import { html } from 'htm/preact'
import { useMemo, useState } from 'preact/hooks'
import type { ClusterState } from '../../../cluster/cluster-state.ts'
import { followStatuses } from '../../../cluster/follow-cluster.ts'
import type { ClusterApi } from '../../../data/cluster-api.ts'
import type { Selection } from '../../../grid/selection.ts'
import { disagreements } from '../../../nodes/compare-nodes.ts'
import { compareAll, nodeRows } from '../../../nodes/node-row.ts'
import { ALL_NODES, isUnwell, type NodeSortKey, selectNodes } from '../../../nodes/select-nodes.ts'
import { clusterHash, NODES } from '../../../route/cluster-route.ts'
import { formatShown } from '../../../text/format.ts'
import { Disagreements } from '../../parts/disagreements.ts'
import { View } from '../../parts/frame.ts'
import { Toolbar } from '../../parts/toolbar.ts'
import { useFollowing } from '../../parts/use-following.ts'
import { useStore } from '../../parts/use-store.ts'
import { NodeDetail } from './node-detail.ts'
import { NodesFigures } from './nodes-figures.ts'
import { NodesGrid } from './nodes-grid.ts'

interface Props {
  readonly api: ClusterApi
  readonly state: ClusterState
  /** Whose details are shown; empty: none. */
  readonly node: string
}

/** Every node: how it is, what is wrong, and where it differs from the others. */
export function NodesView({ api, state, node }: Props) {
  useFollowing((signal) => followStatuses(api, state, document, signal), [api])
  const nodes = useStore(state.nodes)
  const readings = useStore(state.readings)
  const [selection, select] = useState<Selection<NodeSortKey>>(ALL_NODES)
  const { rows, disputed } = useMemo(() => {
    const comparison = compareAll(nodes ?? [], readings)
    return {
      rows: nodeRows(nodes ?? [], readings, comparison),
      disputed: disagreements(comparison),
    }
  }, [nodes, readings])
  const shown = useMemo(() => selectNodes(rows, selection), [rows, selection])
  const problems = useMemo(() => rows.filter(isUnwell).length, [rows])
  const opened = rows.find(({ name }) => name === node)
  return html`<${View} title="Nodes" name="services">
    <${NodesFigures} rows=${rows} />
    <${Disagreements} texts=${disputed} />
    <${Toolbar}
      ...${{ selection, problems, name: 'nodes' }}
      placeholder="Filter by name, mode, version or problem"
      select=${(change: Partial<Selection<NodeSortKey>>) => select({ ...selection, ...change })}
    />
    <p class="count" role="status">${formatShown('node', shown.length, nodes?.length)}</p>
    <div class=${node === '' ? 'split' : 'split with-detail'}>
      <${NodesGrid} ...${{ rows: shown, selection, select, opened: node }} isLoading=${nodes === undefined} />
      ${node === '' ? null : html`<${NodeDetail} key=${node} ...${{ name: node, row: opened, close }} />`}
    </div>
  <//>`
}

function close(): void {
  location.hash = clusterHash(NODES)
  document.querySelector<HTMLElement>('.grid')?.focus()
}
