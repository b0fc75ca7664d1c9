import { html } from 'htm/preact'

/** The first stop of the tab key. The fragment is the route, so the focus moves without it. */
export function SkipLink() {
  return html`<a class="skip" href="#main" onClick=${skip}>Skip to the content</a>`
}

function skip(event: Event): void {
  event.preventDefault()
  document.querySelector<HTMLElement>('#main')?.focus()
}
