import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import {
  formatBytes,
  formatCount,
  formatRate,
  formatShare,
  formatShort,
  NOTHING,
} from '../display/format.ts'
import type { BackendRow } from '../node/services.ts'

/** The most backends that are shown before the reader wants all. */
const FIRST = 100

interface Props {
  readonly rows: readonly BackendRow[]
  readonly label: string
  /** Whether counters were read; before that, it is not known what the mode counts. */
  readonly isCounted: boolean
}

/** A column that is shown only if the mode or the Service has its values. */
interface Column {
  readonly name: string
  readonly isNumber: boolean
  readonly show: (row: BackendRow) => unknown
}

const WEIGHT = {
  name: 'Weight',
  isNumber: true,
  show: ({ weight }: BackendRow) => formatCount(weight),
}

const CONNECTIONS: readonly Column[] = [
  { name: 'Conn./s', isNumber: true, show: (row) => formatRate(row.connectionsPerSecond) },
  { name: 'Connections', isNumber: true, show: (row) => formatShort(row.connections) },
]

const RATE = {
  name: 'Traffic/s',
  isNumber: true,
  show: (row: BackendRow) => formatBytes(row.bytesPerSecond),
}

const BYTES = { name: 'Bytes', isNumber: true, show: ({ bytes }: BackendRow) => formatBytes(bytes) }

const SHARE = {
  name: 'Share',
  isNumber: false,
  show: ({ share }: BackendRow) => html`<${Share} share=${share} />`,
}

/** The backends of one entry, with the traffic of each as far as the mode counts it. */
export function BackendsTable({ rows, label, isCounted }: Props) {
  const [isWhole, setWhole] = useState(false)
  if (rows.length === 0) return html`<p class="none">No endpoint is ready.</p>`
  const shown = isWhole ? rows : rows.slice(0, FIRST)
  const columns = columnsOf(rows)
  const isUncounted = isCounted && columns.every((column) => column === WEIGHT)
  return html`<table class="backends" aria-label=${label}>
      <thead>
        <tr>
          <th scope="col">Backend</th>
          ${columns.map(
            ({ name, isNumber }) =>
              html`<th key=${name} scope="col" class=${isNumber ? 'number' : 'share'}>${name}</th>`,
          )}
        </tr>
      </thead>
      <tbody>
        ${shown.map((row) => html`<${Backend} key=${row.address} row=${row} columns=${columns} />`)}
      </tbody>
    </table>
    ${isUncounted ? html`<p class="remarks">This mode does not count what backends get.</p>` : null}
    ${
      shown.length === rows.length
        ? null
        : html`<button type="button" onClick=${() => setWhole(true)}>
            Show all ${formatCount(rows.length)} backends
          </button>`
    }`
}

function columnsOf(rows: readonly BackendRow[]): readonly Column[] {
  const hasConnections = rows.some(({ connections }) => connections !== undefined)
  return [
    ...(rows.some(({ weight }) => weight !== rows[0]?.weight) ? [WEIGHT] : []),
    ...(hasConnections ? CONNECTIONS : []),
    ...(rows.some(({ bytes }) => bytes !== undefined) ? [RATE, BYTES] : []),
    ...(hasConnections ? [SHARE] : []),
  ]
}

function Backend({
  row,
  columns,
}: {
  readonly row: BackendRow
  readonly columns: readonly Column[]
}) {
  return html`<tr>
    <th scope="row">
      ${row.address}${row.marks.map((mark) => html` <span class="mark">${mark}</span>`)}
    </th>
    ${columns.map(
      ({ name, isNumber, show }) =>
        html`<td key=${name} class=${isNumber ? 'number' : 'share'}>${show(row)}</td>`,
    )}
  </tr>`
}

function Share({ share }: { readonly share: number | undefined }) {
  if (share === undefined) return NOTHING
  return html`<span class="bar" aria-hidden="true"><span style=${{ width: `${share * 100}%` }}></span></span>
    ${formatShare(share)}`
}
