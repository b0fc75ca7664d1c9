import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import type { BackendRow } from '../../services/service-entries.ts'
import {
  formatBytes,
  formatCount,
  formatRate,
  formatShare,
  formatShort,
} from '../../text/format.ts'

/** Backends that are shown before the others are wanted. */
const FIRST = 100

/** The backends of one entry, with what each of them gets. */
export function BackendsTable({ rows, label }: { rows: readonly BackendRow[]; label: string }) {
  const [isWhole, setWhole] = useState(false)
  if (rows.length === 0) return html`<p class="none">No endpoint is ready.</p>`
  const shown = isWhole ? rows : rows.slice(0, FIRST)
  const isWeighted = rows.some(({ weight }) => weight !== rows[0]?.weight)
  return html`<table class="backends" aria-label=${label}>
      <thead>
        <tr>
          <th scope="col">Backend</th>
          ${isWeighted ? html`<th scope="col" class="number">Weight</th>` : null}
          <th scope="col" class="number">Conn./s</th>
          <th scope="col" class="number">Connections</th>
          <th scope="col" class="number">Bytes</th>
          <th scope="col">Share</th>
        </tr>
      </thead>
      <tbody>
        ${shown.map((row) => html`<${Backend} key=${row.address} row=${row} isWeighted=${isWeighted} />`)}
      </tbody>
    </table>
    ${
      shown.length === rows.length
        ? null
        : html`<button type="button" onClick=${() => setWhole(true)}>
            Show all ${formatCount(rows.length)} backends
          </button>`
    }`
}

function Backend({ row, isWeighted }: { readonly row: BackendRow; readonly isWeighted: boolean }) {
  const { address, marks, weight, share, connections, connectionsPerSecond, bytes } = row
  return html`<tr>
    <th scope="row">
      ${address}${marks.map((mark) => html` <span class="mark">${mark}</span>`)}
    </th>
    ${isWeighted ? html`<td class="number">${formatCount(weight)}</td>` : null}
    <td class="number">${formatRate(connectionsPerSecond)}</td>
    <td class="number">${formatShort(connections)}</td>
    <td class="number">${formatBytes(bytes)}</td>
    <td class="share">
      ${
        share === undefined
          ? '–'
          : html`<span class="bar" aria-hidden="true"><span style=${{ width: `${share * 100}%` }}></span></span>
              ${formatShare(share)}`
      }
    </td>
  </tr>`
}
