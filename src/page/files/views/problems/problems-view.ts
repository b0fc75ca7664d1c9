import { html } from 'htm/preact'
import type { ProblemMessage, RefusalMessage, StatusMessage } from '../../data/messages.ts'
import { countProblems } from '../../node/count-problems.ts'
import type { NodeState } from '../../node/node-state.ts'
import { formatAge, formatCount } from '../../text/format.ts'
import { Figures } from '../parts/figures.ts'
import { View } from '../parts/frame.ts'
import { useRouteHash } from '../parts/page-base.ts'
import { useStore } from '../parts/use-store.ts'

/** What does not work: why the node is not ready, conflicts of Services, what the kernel refuses, drift. */
export function ProblemsView({ state }: { readonly state: NodeState }) {
  const status = useStore(state.status)
  const { reasons = [], warnings = [], refusals = [], problems = [] } = status ?? {}
  const isWell = status !== undefined && countProblems(status) === 0
  return html`<${View} title="Problems" name="problems">
    <${Facts} status=${status} />
    ${isWell ? html`<p class="well">Nothing is wrong: every change is in the kernel, and no Service is in conflict.</p>` : null}
    <${Texts} title="Why this node is not ready" texts=${reasons} />
    <${Texts} title="Lasting problems that do not stop it" texts=${warnings} />
    <${Conflicts} problems=${problems} />
    <${Refusals} refusals=${refusals} />
  <//>`
}

function Facts({ status }: { readonly status: StatusMessage | undefined }) {
  const drift = Number(status?.driftRepaired ?? 0)
  const waiting = Number(status?.waitingMs ?? 0)
  const figures = [
    { name: 'Drift repaired', value: formatCount(drift), detail: 'objects, since the start' },
    { name: 'Oldest waiting change', value: waiting === 0 ? 'none' : formatAge(waiting) },
    { name: 'Conflicts', value: formatCount(status?.problems?.length ?? 0) },
    { name: 'Refused by the kernel', value: formatCount(status?.refusals?.length ?? 0) },
  ]
  return html`<${Figures} label="Drift and conflicts" figures=${figures} />`
}

function Texts({ title, texts }: { readonly title: string; readonly texts: readonly string[] }) {
  if (texts.length === 0) return null
  return html`<h2>${title}</h2>
    <ul class="problem-list">${texts.map((text) => html`<li key=${text}>${text}</li>`)}</ul>`
}

function Conflicts({ problems }: { readonly problems: readonly ProblemMessage[] }) {
  if (problems.length === 0) return null
  return html`<h2>Addresses of Services that are not served</h2>
    <ul class="problem-list">
      ${problems.map(
        ({ entry = '', code = '', message = '' }) => html`<li key=${`${entry} ${message}`}>
          <${EntryLink} entry=${entry} /> <span>${message}</span> <code>${code}</code>
        </li>`,
      )}
    </ul>`
}

function Refusals({ refusals }: { readonly refusals: readonly RefusalMessage[] }) {
  if (refusals.length === 0) return null
  return html`<h2>What the kernel refuses</h2>
    <ul class="problem-list">
      ${refusals.map(
        ({ object = '', code = '', message = '', entries = [] }) => html`<li key=${object}>
          <code>${object}</code> <span>${message}</span> <code>${code}</code>
          ${entries.slice(0, 5).map((entry) => html` <${EntryLink} entry=${entry} />`)}
        </li>`,
      )}
    </ul>`
}

/** namespace/name:port/protocol/family, linked to its Service. */
function EntryLink({ entry }: { readonly entry: string }) {
  const routeHash = useRouteHash()
  const service = entry.split(':')[0] ?? ''
  return html`<a href=${routeHash({ view: 'services', service })}>${entry}</a>`
}
