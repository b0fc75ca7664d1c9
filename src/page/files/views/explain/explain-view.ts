import { html } from 'htm/preact'
import { useEffect, useState } from 'preact/hooks'
import type { ExplanationMessage } from '../../data/explanation.ts'
import type { ExplainQuery, NodeApi } from '../../data/node-api.ts'
import { RequestError } from '../../data/request-error.ts'
import type { Route } from '../../route/route.ts'
import { View } from '../parts/frame.ts'
import { ExplainForm } from './explain-form.ts'
import { ExplainedPacket } from './explained-packet.ts'

type Answer =
  | { readonly kind: 'none' | 'waiting' }
  | { readonly kind: 'explained'; readonly explanation: ExplanationMessage }
  | { readonly kind: 'failed'; readonly error: unknown }

interface Props {
  readonly api: NodeApi
  readonly route: Extract<Route, { view: 'explain' }>
}

/** What happens to a packet on this node: the search box, the answer, and the way as a picture. */
export function ExplainView({ api, route }: Props) {
  const [again, setAgain] = useState(0)
  const answer = useAnswer(api, route, again)
  return html`<${View} title="Explain" name="explain">
    <p class="lead">What this node's kernel does with the first packet of a connection, and what node-proxy wants.</p>
    <${ExplainForm} query=${route} again=${() => setAgain(again + 1)} />
    <div class="answer" aria-live="polite" aria-busy=${answer.kind === 'waiting'}>
      ${answer.kind === 'waiting' ? html`<p>Reading the kernel's rules…</p>` : null}
      ${answer.kind === 'failed' ? html`<${Failure} error=${answer.error} />` : null}
      ${answer.kind === 'explained' ? html`<${ExplainedPacket} explanation=${answer.explanation} />` : null}
    </div>
  <//>`
}

function Failure({ error }: { readonly error: unknown }) {
  const code = error instanceof RequestError ? error.code : ''
  return html`<p class="failure">
    ${error instanceof Error ? error.message : 'something went wrong'} ${code === '' ? null : html`<code>${code}</code>`}
  </p>`
}

/** Requests the explanation of each new query; an earlier one is given up. */
function useAnswer(api: NodeApi, query: ExplainQuery, again: number): Answer {
  const { source, destination, protocol, inInterface } = query
  const [answer, setAnswer] = useState<Answer>({ kind: 'none' })
  useEffect(() => {
    if (source === '' || destination === '') {
      setAnswer({ kind: 'none' })
      return undefined
    }
    const closed = new AbortController()
    setAnswer({ kind: 'waiting' })
    api.explain({ source, destination, protocol, inInterface }, closed.signal).then(
      (explanation) => setAnswer({ kind: 'explained', explanation }),
      (error: unknown) =>
        closed.signal.aborted ? undefined : setAnswer({ kind: 'failed', error }),
    )
    return () => closed.abort()
  }, [api, source, destination, protocol, inInterface, again])
  return answer
}
