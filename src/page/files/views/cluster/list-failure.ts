import { html } from 'htm/preact'
import type { NodeFailure } from '../../nodes/node-reading.ts'
import { GRANT } from '../../nodes/node-remedy.ts'

/** Why the Nodes cannot be listed, and what to do. */
export function ListFailure({ failure: { message, status } }: { readonly failure: NodeFailure }) {
  if (status !== 403)
    return html`<p class="failure wide" role="alert">The Nodes cannot be listed: ${message}</p>`
  return html`<div class="failure wide" role="alert">
    <p>Your user may not list nodes: ${message}</p>
    <p>This gives the rights that the page needs, of an account or, with --user, of a user:</p>
    <pre><code>${GRANT}</code></pre>
  </div>`
}
