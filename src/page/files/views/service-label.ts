import { html } from 'htm/preact'

/** namespace/name; the name stands out, since readers look for it. */
export function ServiceName({ service }: { readonly service: string }) {
  const [namespace, name] = service.split('/')
  return html`<span class="namespace">${namespace}/</span>${name}`
}

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
