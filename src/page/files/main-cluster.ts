import { html, render } from 'htm/preact'
import { Session } from './session/session.ts'
import { ClusterPage } from './views/cluster/cluster-page.ts'

const parent = document.querySelector<HTMLElement>('#page')
if (parent !== null) {
  // A page that comes back from the browser's history is loaded anew.
  addEventListener('pageshow', ({ persisted }) => (persisted ? location.reload() : undefined))
  render(html`<${ClusterPage} session=${new Session(sessionStorage)} base="../api/v1/" />`, parent)
}
