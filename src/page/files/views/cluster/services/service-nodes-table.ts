import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { clusterHash } from '../../../route/cluster-route.ts'
import type { NodeServiceRow } from '../../../service-nodes/node-service-row.ts'
import { formatBytes, formatCount, formatRate, formatShort, NOTHING } from '../../../text/format.ts'
import { StateMark } from '../../parts/state-mark.ts'

/** Nodes that are shown before the others are wanted. */
const FIRST = 60

interface Props {
  readonly rows: readonly NodeServiceRow[]
  readonly service: string
}

/** The nodes with what each of them forwards of a Service. */
export function ServiceNodesTable({ rows, service }: Props) {
  const [isWhole, setWhole] = useState(false)
  const shown = isWhole ? rows : rows.slice(0, FIRST)
  return html`<table class="backends service-nodes" aria-labelledby="nodes-title">
      <thead>
        <tr>
          <th scope="col">Node</th>
          <th scope="col">State</th>
          <th scope="col" class="number">Backends</th>
          <th scope="col" class="number">Conn./s</th>
          <th scope="col" class="number">Connections</th>
          <th scope="col" class="number">Traffic/s</th>
        </tr>
      </thead>
      <tbody>
        ${shown.map((row) => html`<${Row} key=${row.node} row=${row} service=${service} />`)}
      </tbody>
    </table>
    ${
      shown.length === rows.length
        ? null
        : html`<button type="button" onClick=${() => setWhole(true)}>
            Show all ${formatCount(rows.length)} nodes
          </button>`
    }`
}

function Row({ row, service }: { readonly row: NodeServiceRow; readonly service: string }) {
  const { node, status, backends, connections, connectionsPerSecond, bytesPerSecond } = row
  const href = clusterHash({ view: 'node', node, route: { view: 'services', service } })
  return html`<tr>
    <th scope="row">
      <a href=${href}>${node}</a>
      ${row.remarks.map((remark) => html`<small key=${remark} class="differs">${remark}</small>`)}
    </th>
    <td><${State} row=${row} status=${status} /></td>
    <td class="number">${formatCount(backends)}</td>
    <td class="number">${formatRate(connectionsPerSecond)}</td>
    <td class="number">${formatShort(connections)}</td>
    <td class="number">${formatBytes(bytesPerSecond)}</td>
  </tr>`
}

function State({ row, status }: { readonly row: NodeServiceRow; readonly status: string }) {
  if (row.isRead) return status === '' ? NOTHING : html`<${StateMark} status=${status} />`
  return row.remarks.length > 0
    ? html`<span class="state bad">no answer</span>`
    : html`<span class="state busy">reading</span>`
}
