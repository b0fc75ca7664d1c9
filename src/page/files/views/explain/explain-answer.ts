import { html } from 'htm/preact'
import { useEffect, useState } from 'preact/hooks'
import type { ExplanationMessage } from '../../data/explanation.ts'
import type { ExplainQuery } from '../../data/node-api.ts'
import { RequestError } from '../../data/request-error.ts'
import { ExplainedPacket } from './explained-packet.ts'

type Answer =
  | { readonly kind: 'none' | 'waiting' }
  | { readonly kind: 'explained'; readonly explanation: ExplanationMessage; readonly words: string }
  | { readonly kind: 'failed'; readonly error: unknown }

/** An explanation, and what was found out before it; empty: nothing. */
export interface FoundExplanation {
  readonly explanation: ExplanationMessage
  readonly words: string
}

interface Props {
  readonly query: ExplainQuery
  /** Reads the explanation; while it stays the same and the query, too, it is read once. */
  readonly explain: (query: ExplainQuery, signal: AbortSignal) => Promise<FoundExplanation>
  /** Another number explains the same packet anew. */
  readonly again: number
}

/** What becomes of the packet of a query: as words, as a picture, as text. */
export function ExplainAnswer({ query, explain, again }: Props) {
  const answer = useAnswer(query, explain, again)
  return html`<div class="answer" aria-live="polite" aria-busy=${answer.kind === 'waiting'}>
    ${answer.kind === 'waiting' ? html`<p>Reading the kernel's rules…</p>` : null}
    ${answer.kind === 'failed' ? html`<${Failure} error=${answer.error} />` : null}
    ${answer.kind === 'explained' && answer.words !== '' ? html`<p class="found">${answer.words}</p>` : null}
    ${answer.kind === 'explained' ? html`<${ExplainedPacket} explanation=${answer.explanation} />` : null}
  </div>`
}

function Failure({ error }: { readonly error: unknown }) {
  const code = error instanceof RequestError ? error.code : ''
  return html`<p class="failure">
    ${error instanceof Error ? error.message : 'something went wrong'} ${code === '' ? null : html`<code>${code}</code>`}
  </p>`
}

/** Requests the explanation of each new query; an earlier one is given up. */
function useAnswer(query: ExplainQuery, explain: Props['explain'], again: number): Answer {
  const { source, destination, protocol, inInterface } = query
  const [answer, setAnswer] = useState<Answer>({ kind: 'none' })
  useEffect(() => {
    if (source === '' || destination === '') {
      setAnswer({ kind: 'none' })
      return undefined
    }
    const closed = new AbortController()
    setAnswer({ kind: 'waiting' })
    explain({ source, destination, protocol, inInterface }, closed.signal).then(
      (found) => setAnswer({ kind: 'explained', ...found }),
      (error: unknown) =>
        closed.signal.aborted ? undefined : setAnswer({ kind: 'failed', error }),
    )
    return () => closed.abort()
  }, [explain, source, destination, protocol, inInterface, again])
  return answer
}
