import { html } from 'htm/preact'
import type { NodeState } from '../../node/node-state.ts'
import { useStore } from '../parts/use-store.ts'

interface Props {
  readonly state: NodeState
  /** What stands for its name before it has answered. */
  readonly name: string
}

/** The name of a node, its mode and its version. */
export function NodeBrand({ state, name }: Props) {
  const { nodeName = '', mode = '', version = '' } = useStore(state.status) ?? {}
  return html`<strong>${nodeName || name}</strong>
    ${mode === '' ? null : html`<span class="mode">${mode}</span>`}
    ${version === '' ? null : html`<span class="version">${version}</span>`}`
}
