import { html } from 'htm/preact'

/** The properties for which no value has a majority: one text for each. */
export function Disagreements({ texts }: { readonly texts: readonly string[] }) {
  if (texts.length === 0) return null
  return html`<div class="failure disagreements">
    <p>The nodes disagree, and no value is that of most of them:</p>
    <ul>${texts.map((text) => html`<li key=${text}>${text}</li>`)}</ul>
  </div>`
}
