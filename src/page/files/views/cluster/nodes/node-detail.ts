import { html } from 'htm/preact'
import { useEffect, useRef } from 'preact/hooks'
import type { StatusMessage } from '../../../data/messages.ts'
import { nodeRemedy } from '../../../nodes/node-remedy.ts'
import type { NodeRow } from '../../../nodes/node-row.ts'
import { nodeHash } from '../../../route/cluster-route.ts'
import { formatAge, formatBytes, formatCount, formatMs } from '../../../text/format.ts'
import { Figures } from '../../parts/figures.ts'
import { NodeStateMark } from './node-state-mark.ts'
import { syncWords } from './sync-words.ts'

interface Props {
  readonly name: string
  /** Undefined: there is no such Node, or none is listed yet. */
  readonly row: NodeRow | undefined
  readonly close: () => void
}

/** One node: what is wrong with it, what to do, and the way to its page. */
export function NodeDetail({ name, row, close }: Props) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus({ preventScroll: true }), [name])
  const onKeyDown = ({ key }: KeyboardEvent) => (key === 'Escape' ? close() : undefined)
  return html`<aside class="detail" aria-labelledby="detail-title" onKeyDown=${onKeyDown}>
    <div class="detail-head">
      <h2 id="detail-title" ref=${heading} tabindex="-1">${name}</h2>
      ${row === undefined ? null : html`<${NodeStateMark} state=${row.state} />`}
      <a class="button" href=${nodeHash(name)}>Open this node</a>
      <button type="button" onClick=${close}>Close</button>
    </div>
    ${row === undefined ? html`<p>No Node of this name is listed.</p>` : html`<${Row} row=${row} />`}
  </aside>`
}

function Row({ row }: { readonly row: NodeRow }) {
  const { status, problems, differences } = row
  return html`<${Failure} row=${row} />
    <${Texts} title="What is wrong" texts=${row.failure === undefined ? problems : problems.slice(1)} />
    <${Texts} title="Where it differs" texts=${differences} />
    ${row.state === 'ready' ? html`<p class="well">Nothing is wrong: every change is in the kernel.</p>` : null}
    ${status === undefined ? null : html`<${Facts} status=${status} isOld=${row.failure !== undefined} />`}`
}

function Failure({ row: { name, failure } }: { readonly row: NodeRow }) {
  if (failure === undefined) return null
  const { text, command } = nodeRemedy(name, failure)
  return html`<div class="failure">
      <p>${failure.message} ${failure.code === '' ? null : html`<code>${failure.code}</code>`}</p>
    </div>
    <p class="remedy">${text}</p>
    ${command === '' ? null : html`<pre><code>${command}</code></pre>`}`
}

function Texts({ title, texts }: { readonly title: string; readonly texts: readonly string[] }) {
  if (texts.length === 0) return null
  return html`<h3>${title}</h3>
    <ul class="problem-list">${texts.map((text) => html`<li key=${text}>${text}</li>`)}</ul>`
}

function Facts({ status, isOld }: { readonly status: StatusMessage; readonly isOld: boolean }) {
  const { programming, startedAt, residentMemory } = status
  const figures = [
    { name: 'Mode', value: status.mode ?? '' },
    { name: 'Version', value: status.version ?? '' },
    { name: 'Sync', value: syncWords(status) },
    {
      name: 'Latency',
      value: formatMs(programming?.p50Ms),
      detail: `p99 ${formatMs(programming?.p99Ms)}`,
    },
    { name: 'Drift repaired', value: formatCount(Number(status.driftRepaired ?? 0)) },
    { name: 'Services', value: formatCount(status.services ?? 0) },
    { name: 'Ports', value: formatCount(status.entries ?? 0) },
    { name: 'Backends', value: formatCount(status.backends ?? 0) },
    ...(residentMemory === undefined
      ? []
      : [{ name: 'Memory', value: formatBytes(Number(residentMemory)) }]),
    ...(startedAt === undefined
      ? []
      : [{ name: 'Running for', value: formatAge(Date.now() - Number(startedAt)) }]),
  ]
  return html`<h3>${isOld ? 'When it was last read' : 'In numbers'}</h3>
    <${Figures} label="This node" figures=${figures} />`
}
