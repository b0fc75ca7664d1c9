import { html } from 'htm/preact'
import type { NodeState } from '../node/node-state.ts'
import { useStore } from './parts/use-store.ts'

interface Props {
  readonly state: NodeState
  /** Shown instead of its name before it has answered. */
  readonly name: string
}

/** The name of a node, its mode and its version. */
export function NodeBrand({ state, name }: Props) {
  const { nodeName = '', mode = '', version = '' } = useStore(state.status) ?? {}
  return html`<strong>${nodeName || name}</strong>
    ${mode === '' ? null : html`<span class="mode">${mode}</span>`}
    ${version === '' ? null : html`<span class="version">${version}</span>`}`
}

/** Whether a node works, and why not. */
export function Readiness({ state }: { readonly state: NodeState }) {
  return html`<p class="readiness" role="status"><${Words} state=${state} /></p>`
}

function Words({ state }: { readonly state: NodeState }) {
  const status = useStore(state.status)
  const failure = useStore(state.failure)
  if (failure !== undefined) {
    return html`<span class="state bad">no answer</span><span class="why" title=${failure}>${failure}</span>`
  }
  if (status === undefined) return html`<span class="state busy">loading</span>`
  const { isReady = false, reasons = [] } = status
  if (isReady) return html`<span class="state good">ready</span>`
  return html`<span class="state bad">not ready</span><span class="why">${reasons[0] ?? ''}</span>`
}
