import { html } from 'htm/preact'
import type { EntryOverNodes } from '../../../service-nodes/sum-entries.ts'
import { hostPort } from '../../../text/format.ts'
import { StateMark } from '../../parts/state-mark.ts'
import { BackendsTable } from '../../services/backends-table.ts'

interface Props {
  readonly over: EntryOverNodes
  readonly isCounted: boolean
}

/** One port of a Service: where its packets arrive, and what all nodes sent to each of its backends. */
export function EntryOverNodesSection({ over: { entry, status, rows }, isCounted }: Props) {
  const { id, protocol = '', family = 4, frontends = [] } = entry
  const port = /^[^:]*:([^/]*)/.exec(id)?.[1] ?? ''
  const title = [port, protocol, `IPv${family}`].filter(Boolean).join(' · ')
  const addresses = frontends.map(({ ip = '', port: number }) =>
    ip === 'node' ? `every node address:${number}` : hostPort(ip, number),
  )
  return html`<section class="entry" aria-label=${title}>
    <h3>${title} <${StateMark} status=${status} /></h3>
    <p class="remarks">${addresses.join(', ')}</p>
    <${BackendsTable} rows=${rows} label=${`Backends of ${title}`} isCounted=${isCounted} />
  </section>`
}
