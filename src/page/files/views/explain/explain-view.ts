import { html } from 'htm/preact'
import { useCallback, useState } from 'preact/hooks'
import type { ExplainQuery, NodeApi } from '../../data/node-api.ts'
import type { Route } from '../../route/route.ts'
import { View } from '../parts/frame.ts'
import { useRouteHash } from '../parts/page-base.ts'
import { ExplainAnswer } from './explain-answer.ts'
import { ExplainForm } from './explain-form.ts'

interface Props {
  readonly api: NodeApi
  readonly route: Extract<Route, { view: 'explain' }>
}

/** What happens to a packet on this node: the search box, the answer, and the way as a picture. */
export function ExplainView({ api, route }: Props) {
  const [again, setAgain] = useState(0)
  const routeHash = useRouteHash()
  const explain = useCallback(
    async (query: ExplainQuery, signal: AbortSignal) => ({
      ...{ explanation: await api.explain(query, signal), words: '' },
    }),
    [api],
  )
  return html`<${View} title="Explain" name="explain">
    <p class="lead">What this node's kernel does with the first packet of a connection, and what node-proxy wants.</p>
    <${ExplainForm}
      query=${route}
      again=${() => setAgain(again + 1)}
      hashOf=${(query: ExplainQuery) => routeHash({ view: 'explain', ...query })}
      sourceHint="an address, or node"
      firstSource="node"
    />
    <${ExplainAnswer} query=${route} explain=${explain} again=${again} />
  <//>`
}
