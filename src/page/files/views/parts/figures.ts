import { html } from 'htm/preact'

/** A number with its name. */
export interface Figure {
  readonly name: string
  readonly value: string
  readonly detail?: string
  readonly isBad?: boolean
}

/** Numbers beside each other. */
export function Figures({ label, figures }: { label: string; figures: readonly Figure[] }) {
  return html`<dl class="figures" aria-label=${label}>
    ${figures.map(
      ({ name, value, detail = '', isBad = false }) => html`<div key=${name}>
        <dt>${name}</dt>
        <dd class=${isBad ? 'bad' : ''}>${value}${detail === '' ? null : html` <small>${detail}</small>`}</dd>
      </div>`,
    )}
  </dl>`
}
