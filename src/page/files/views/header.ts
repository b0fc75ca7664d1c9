import { html } from 'htm/preact'
import type { NodeState } from '../node/node-state.ts'
import type { Route } from '../route/route.ts'
import { NodeBrand } from './node/node-brand.ts'
import { NodeLinks } from './node/node-links.ts'
import { Readiness } from './node/readiness.ts'
import { ThemeButton } from './parts/theme-button.ts'

/** The name of the node, whether it works, and the ways to the views. */
export function Header({ state, view }: { state: NodeState; view: Route['view'] }) {
  return html`<header>
    <p class="brand">
      <img src="assets/icon.svg" width="20" height="20" alt="" />
      <${NodeBrand} state=${state} name="node-proxy" />
    </p>
    <${NodeLinks} state=${state} view=${view} label="Views" />
    <${Readiness} state=${state} />
    <${ThemeButton} />
  </header>`
}
