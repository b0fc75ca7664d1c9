import { html } from 'htm/preact'
import type { ServiceRow } from '../../services/service-row.ts'
import { formatBytes, formatCount, formatRate } from '../../text/format.ts'
import { StateMark } from '../parts/state-mark.ts'

interface Props {
  readonly row: ServiceRow
  /** From 0, without the headings. */
  readonly index: number
  /** Pixels from the first row. */
  readonly top: number
  readonly isActive: boolean
  readonly isOpened: boolean
  readonly onOpen: (service: string) => void
  readonly onActivate: (service: string) => void
}

/** One Service in the table. */
export function GridRow({ row, index, top, isActive, isOpened, onOpen, onActivate }: Props) {
  const { service, status, problem, entries, backends, rates } = row
  const [namespace, name] = service.split('/')
  const click = () => {
    onActivate(service)
    onOpen(service)
  }
  return html`<div
    role="row"
    id=${`row-${index}`}
    class=${`row${isActive ? ' active' : ''}`}
    aria-rowindex=${index + 2}
    aria-selected=${isOpened}
    style=${{ transform: `translateY(${top}px)` }}
    onClick=${click}
  >
    <div role="gridcell" aria-colindex="1" class="name" title=${service}>
      <span class="namespace">${namespace}/</span>${name}
    </div>
    <div role="gridcell" aria-colindex="2" title=${problem}><${StateMark} status=${status} /></div>
    <div role="gridcell" aria-colindex="3" class="number">${formatCount(entries)}</div>
    <div role="gridcell" aria-colindex="4" class=${backends === 0 ? 'number none' : 'number'}>${formatCount(backends)}</div>
    <div role="gridcell" aria-colindex="5" class="number">${formatRate(rates.connections)}</div>
    <div role="gridcell" aria-colindex="6" class="number">${formatBytes(rates.bytes)}</div>
  </div>`
}
