import { html, render } from 'htm/preact'
import { Connection } from './data/connection.ts'
import { nodeApi } from './data/node-api.ts'
import { followNode } from './node/follow-node.ts'
import { nodeState } from './node/node-state.ts'
import { App } from './views/app.ts'

const parent = document.querySelector<HTMLElement>('#page')
if (parent !== null) {
  const api = nodeApi(new Connection({ base: 'inspection/v1/' }))
  const state = nodeState()
  const closed = new AbortController()
  addEventListener('pagehide', () => closed.abort())
  // A page that comes back from the browser's history is loaded anew.
  addEventListener('pageshow', ({ persisted }) => (persisted ? location.reload() : undefined))
  followNode(api, state, document, closed.signal)
  render(html`<${App} api=${api} state=${state} />`, parent)
}
