import { html } from 'htm/preact'
import type { DesiredMessage, PoolMessage } from '../../data/explanation.ts'
import { hostPort } from '../../text/format.ts'

/** Addresses that are shown of a list. */
const SHOWN = 12

/** What node-proxy wants of a packet, and which endpoints of the Service get nothing, with the reasons. */
export function Desired({ desired }: { readonly desired: DesiredMessage }) {
  const { outcome = '', entry = '', backends = [], hint = '', pool = {} } = desired
  const reasons = [...(desired.reasons ?? []), ...(pool.reasons ?? [])]
  const list = backends.map(({ ip = '', port }) => hostPort(ip, port))
  return html`<p>
      <b>${outcome}</b> ${list.length === 0 ? null : html`to ${list.slice(0, SHOWN).join(', ')}${more(list.length)}`}
    </p>
    ${entry === '' ? null : html`<p>for <code>${entry}</code></p>`}
    ${reasons.length === 0 ? null : html`<ul>${reasons.map((reason) => html`<li>${reason}</li>`)}</ul>`}
    ${hint === '' ? null : html`<p class="hint">${hint}</p>`}
    <${LeftOut} pool=${pool} />`
}

function LeftOut({ pool: { leftOut = [], leftOutCount = 0 } }: { readonly pool: PoolMessage }) {
  if (leftOutCount === 0) return null
  return html`<p>Endpoints that get no new connections from this node:</p>
    <ul class="left-out">
      ${leftOut.slice(0, SHOWN).map(({ ip = '', port, text = '' }) => html`<li><code>${hostPort(ip, port)}</code> ${text}</li>`)}
      ${leftOutCount > SHOWN ? html`<li>and ${leftOutCount - SHOWN} more</li>` : null}
    </ul>`
}

function more(count: number): string {
  return count > SHOWN ? ` and ${count - SHOWN} more` : ''
}
