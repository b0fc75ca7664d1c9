import { html } from 'htm/preact'
import { frequencies } from '../../../nodes/most-frequent.ts'
import type { NodeRow } from '../../../nodes/node-row.ts'
import { formatAge, formatCount, formatMs, NOTHING } from '../../../text/format.ts'
import { Figures } from '../../parts/figures.ts'

/** Values that are listed of one field. */
const LISTED = 3

/** The nodes in numbers. */
export function NodesFigures({ rows }: { readonly rows: readonly NodeRow[] }) {
  const count = (...states: readonly string[]) =>
    rows.filter(({ state }) => states.includes(state)).length
  const statuses = rows.flatMap(({ status, failure }) =>
    status === undefined || failure !== undefined ? [] : [status],
  )
  const silent = count('no answer')
  const unready = count('not ready')
  const waiting = Math.max(0, ...statuses.map(({ waitingMs = '0' }) => Number(waitingMs)))
  const slowest = Math.max(-1, ...statuses.map(({ programming }) => programming?.p99Ms ?? -1))
  const figures = [
    {
      name: 'Ready',
      value: formatCount(rows.length - silent - unready - count('loading')),
      detail: `of ${formatCount(rows.length)}`,
    },
    { name: 'Not ready', value: formatCount(unready), isBad: unready > 0 },
    { name: 'Cannot be read', value: formatCount(silent), isBad: silent > 0 },
    { name: 'With problems', value: formatCount(count('problems')) },
    { name: 'Differ', value: formatCount(rows.filter((row) => row.differences.length > 0).length) },
    { name: 'Mode', value: spread(statuses.map(({ mode = '' }) => mode)) },
    { name: 'Version', value: spread(statuses.map(({ version = '' }) => version)) },
    { name: 'Slowest p99', value: formatMs(slowest < 0 ? undefined : slowest) },
    {
      name: 'Oldest waiting',
      value: waiting === 0 ? 'none' : formatAge(waiting),
      isBad: waiting > 10_000,
    },
  ]
  return html`<${Figures} label="All nodes" figures=${figures} />`
}

/** Different values, with how many nodes have each. */
function spread(values: readonly string[]): string {
  const found = frequencies(values)
  if (found.length <= 1) return found[0]?.[0] || NOTHING
  const listed = found.slice(0, LISTED).map(([value, count]) => `${value} (${formatCount(count)})`)
  return [...listed, ...(found.length > LISTED ? ['…'] : [])].join(', ')
}
