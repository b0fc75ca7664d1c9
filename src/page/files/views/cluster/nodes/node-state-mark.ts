import { html } from 'htm/preact'
import type { NodeRowState } from '../../../nodes/node-row.ts'

const TONES: Readonly<Record<NodeRowState, string>> = {
  'no answer': 'bad',
  'not ready': 'bad',
  problems: 'warn',
  differs: 'warn',
  loading: 'busy',
  ready: 'good',
}

/** How a node is: a word, and a mark whose shape says the same as its colour. */
export function NodeStateMark({ state }: { readonly state: NodeRowState }) {
  return html`<span class=${`state ${TONES[state]}`}>${state}</span>`
}
