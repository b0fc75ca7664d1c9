import { html } from 'htm/preact'

/** A number with its name. */
export interface Figure {
  readonly name: string
  readonly value: string
  readonly detail?: string
  readonly isBad?: boolean
}

/** Several figures in a row. */
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

/** What nodes have differently where no value has a majority: one text for each. */
export function Disagreements({ texts }: { readonly texts: readonly string[] }) {
  if (texts.length === 0) return null
  return html`<div class="failure disagreements">
    <p>The nodes disagree, and no value is that of most of them:</p>
    <ul>${texts.map((text) => html`<li key=${text}>${text}</li>`)}</ul>
  </div>`
}
