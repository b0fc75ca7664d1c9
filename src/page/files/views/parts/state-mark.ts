import { html } from 'htm/preact'

const TONES: Readonly<Record<string, string>> = {
  Done: 'good',
  Pending: 'busy',
  Conflict: 'warn',
  Error: 'bad',
}

/** The state of a Service or an entry: a word, and a mark whose shape says the same as its colour. */
export function StateMark({ status }: { readonly status: string }) {
  return html`<span class=${`state ${TONES[status] ?? 'busy'}`}>${status || 'unknown'}</span>`
}
