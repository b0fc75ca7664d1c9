import { html } from 'htm/preact'
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type {
  ExplanationDocument,
  OutcomeDocument,
  StepDocument,
} from '../../../inspection/answers.ts'
import type {
  ExplainResponseJson,
  PoolExplanationJson,
} from '../../../inspection/generated/inspection_pb.ts'
import { RequestError } from '../data/connection.ts'
import type { ExplainQuery } from '../data/node-api.ts'
import { formatShare, hostPort } from '../display/format.ts'
import {
  counterWords,
  outcomeSentence,
  outcomeWords,
  packetWords,
  stepWords,
  type WayBox,
  type WayLink,
  wayLayout,
} from './way-layout.ts'

const PROTOCOLS = ['tcp', 'udp', 'sctp']

interface FormProps {
  readonly query: ExplainQuery
  /** The fragment of a query, and of the further fields of the form. */
  readonly hashOf: (query: ExplainQuery, fields: FormData) => string
  /** Called when the same query is submitted again. */
  readonly onRepeat: () => void
  /** What a source may be. */
  readonly sourceHint: string
  /** What it is before the reader has given one. */
  readonly firstSource: string
  /** Further fields. */
  readonly children?: ComponentChildren
}

/** The search box: its query becomes the address of the page, so that an answer can be linked to. */
export function ExplainForm(props: FormProps) {
  const { query, onRepeat, hashOf, sourceHint, firstSource, children } = props
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    const fields = new FormData(event.target as HTMLFormElement)
    const hash = hashOf(queryOf(fields), fields)
    if (hash === location.hash) onRepeat()
    else location.hash = hash
  }
  const { source, destination, protocol, inInterface } = query
  return html`<search>
    <form class="query" onSubmit=${submit}>
      <label>
        <span>From</span>
        <input name="source" required value=${source || firstSource} aria-describedby="source-hint" ...${PLAIN} />
        <small id="source-hint">${sourceHint}</small>
      </label>
      <label class="wide">
        <span>To</span>
        <input name="destination" required value=${destination} aria-describedby="destination-hint" ...${PLAIN} />
        <small id="destination-hint">address:port, or namespace/name:port</small>
      </label>
      <label>
        <span>Protocol</span>
        <select name="protocol" key=${protocol}>
          ${PROTOCOLS.map((one) => html`<option value=${one} selected=${one === (protocol || 'tcp')}>${one.toUpperCase()}</option>`)}
        </select>
      </label>
      <label>
        <span>By interface</span>
        <input name="interface" value=${inInterface} aria-describedby="interface-hint" ...${PLAIN} />
        <small id="interface-hint">empty: by the route back</small>
      </label>
      ${children}
      <button type="submit" class="primary">Explain</button>
    </form>
  </search>`
}

const PLAIN = { type: 'text', autocomplete: 'off', spellcheck: false } as const

function queryOf(fields: FormData): ExplainQuery {
  const field = (name: string) => (fields.get(name) as string).trim()
  return {
    source: field('source'),
    destination: field('destination'),
    protocol: field('protocol'),
    inInterface: field('interface'),
  }
}

/** Distances of text baselines from the upper edge, in pixels. */
const HEAD_AT = 24
const FIRST_AT = 43
const LINE = 17

/** The most addresses of a list that are shown. */
const SHOWN = 12

/** The most outcomes whose steps are listed; the steps of further ones differ in the last one or two. */
const LISTED = 8

type Answer =
  | { readonly kind: 'none' | 'waiting' }
  | {
      readonly kind: 'explained'
      readonly explanation: ExplanationDocument
      readonly foundWords: string
    }
  | { readonly kind: 'failed'; readonly error: unknown }

export interface FoundExplanation {
  readonly explanation: ExplanationDocument
  /** On which node the connection begins, and why; empty: the page is of one node. */
  readonly foundWords: string
}

interface AnswerProps {
  readonly query: ExplainQuery
  /** Reads the explanation; called once as long as all these properties stay the same. */
  readonly explain: (query: ExplainQuery, signal: AbortSignal) => Promise<FoundExplanation>
  /** How often the same query was submitted again. */
  readonly repeats: number
}

/** What becomes of the packet of a query: as words, as a picture, as text. */
export function ExplainAnswer({ query, explain, repeats }: AnswerProps) {
  const answer = useAnswer(query, explain, repeats)
  return html`<div class="answer" aria-live="polite" aria-busy=${answer.kind === 'waiting'}>
    ${answer.kind === 'waiting' ? html`<p>Reading the kernel's rules…</p>` : null}
    ${answer.kind === 'failed' ? html`<${Failure} error=${answer.error} />` : null}
    ${answer.kind === 'explained' && answer.foundWords !== '' ? html`<p class="found">${answer.foundWords}</p>` : null}
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
function useAnswer(query: ExplainQuery, explain: AnswerProps['explain'], repeats: number): Answer {
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
  }, [explain, source, destination, protocol, inInterface, repeats])
  return answer
}

/** An explanation: the differences between kernel and node-proxy, what each does with the packet, and its path. */
function ExplainedPacket({ explanation }: { readonly explanation: ExplanationDocument }) {
  const { observed, differences, desired, desiredUnknown = '' } = explanation
  return html`<h2>${packetWords(explanation)}</h2>
    <${Verdict} explanation=${explanation} />
    ${
      differences.length === 0
        ? null
        : html`<ul class="differences">${differences.map((one) => html`<li key=${one}>${one}</li>`)}</ul>`
    }
    <div class="sides">
      <section aria-labelledby="kernel-title">
        <h3 id="kernel-title">The kernel</h3>
        <ul class="outcomes">
          ${observed.map((one) => {
            const [head, details] = outcomeWords(one)
            return html`<li class=${one.kind}>
              <b>${formatShare(one.probability)}</b> <span>${head}</span> <small>${details}</small>
            </li>`
          })}
        </ul>
      </section>
      <section aria-labelledby="desired-title">
        <h3 id="desired-title">node-proxy wants</h3>
        ${desired === null ? html`<p>not known: ${desiredUnknown}</p>` : html`<${Desired} desired=${desired} />`}
      </section>
    </div>
    <h3 id="way-title">The way</h3>
    <${WayPicture} explanation=${explanation} />
    <${WayText} observed=${observed} />`
}

function Verdict({ explanation: { observed, differences } }: { explanation: ExplanationDocument }) {
  if (differences.length > 0) {
    return html`<p class="verdict bad">The kernel does otherwise than node-proxy wants:</p>`
  }
  const isDelivered = observed.every(({ kind }) => kind === 'delivered')
  return isDelivered
    ? html`<p class="verdict good">The connection is established.</p>`
    : html`<p class="verdict warn">The connection is not always established.</p>`
}

/** The way as text: what the picture shows, with every rule in full. */
function WayText({ observed }: { readonly observed: readonly OutcomeDocument[] }) {
  return html`<details class="way-text">
    <summary>The way as text</summary>
    ${observed.slice(0, LISTED).map(
      (outcome) => html`<h4>${outcomeSentence(outcome)}</h4>
        <ol>
          ${outcome.steps.map((step) => html`<li><${Step} step=${step} /></li>`)}
        </ol>`,
    )}
    ${observed.length > LISTED ? html`<p>and ${observed.length - LISTED} more outcomes</p>` : null}
  </details>`
}

function Step({ step }: { readonly step: StepDocument }) {
  const count = counterWords(step)
  return html`<b>${step.where}</b> <code>${stepWords(step)}</code>${count === '' ? null : html` <small>${count}</small>`}`
}

/** What node-proxy wants of a packet, and which endpoints of the Service get nothing, with the reasons. */
function Desired({ desired }: { readonly desired: ExplainResponseJson }) {
  const { outcome = '', entry = '', backends = [], hint = '', pool = {} } = desired
  const { announcement = '' } = desired
  const refused = (desired.policyRefusals ?? []).slice(0, SHOWN).map(({ text = '' }) => text)
  const reasons = [...refused, ...(desired.reasons ?? []), ...(pool.reasons ?? [])]
  const list = backends.map(({ ip = '', port }) => hostPort(ip, port))
  return html`<p>
      <b>${outcome}</b> ${list.length === 0 ? null : html`to ${list.slice(0, SHOWN).join(', ')}${more(list.length)}`}
    </p>
    ${entry === '' ? null : html`<p>for <code>${entry}</code></p>`}
    ${reasons.length === 0 ? null : html`<ul>${reasons.map((reason) => html`<li>${reason}</li>`)}</ul>`}
    ${announcement === '' ? null : html`<p>On the network: ${announcement}</p>`}
    ${hint === '' ? null : html`<p class="hint">${hint}</p>`}
    <${LeftOut} pool=${pool} />`
}

function LeftOut({
  pool: { leftOut = [], leftOutCount = 0 },
}: {
  readonly pool: PoolExplanationJson
}) {
  if (leftOutCount === 0) return null
  return html`<p>Endpoints that get no new connections from this node:</p>
    <ul class="left-out">
      ${leftOut.slice(0, SHOWN).map(({ ip = '', port, text = '' }) => html`<li><code>${hostPort(ip, port)}</code> ${text}</li>`)}
      ${leftOutCount > SHOWN ? html`<li>and ${leftOutCount - SHOWN} more</li>` : null}
    </ul>`
}

function more(count: number): string {
  return count > SHOWN ? ` and ${count - SHOWN} more` : ''
}

/** The packet's way as a picture; the text below it says the same. */
function WayPicture({ explanation }: { readonly explanation: ExplanationDocument }) {
  const { width, height, boxes, links } = wayLayout(explanation)
  const words = [packetWords(explanation), ...explanation.observed.slice(0, 5).map(outcomeSentence)]
  return html`<div class="way">
    <svg viewBox=${`-1 -1 ${width + 2} ${height + 2}`} width=${width} role="img" aria-label=${words.join('. ')}>
      ${links.map((link) => html`<${Link} link=${link} />`)}
      ${boxes.map((box) => html`<${Box} box=${box} />`)}
    </svg>
  </div>`
}

function Link({
  link: { path, share, label, labelX, labelY, isLeft },
}: {
  readonly link: WayLink
}) {
  return html`<g class="link">
    <path d=${path} stroke-width=${1 + 3 * share} />
    ${label === '' ? null : html`<text x=${labelX} y=${labelY} text-anchor=${isLeft ? 'end' : 'start'}>${label}</text>`}
  </g>`
}

function Box({ box: { kind, x, y, width, height, head, lines } }: { readonly box: WayBox }) {
  return html`<g class=${`box ${kind}`} transform=${`translate(${x} ${y})`}>
    <rect width=${width} height=${height} rx="6" />
    <text class="head" x="12" y=${HEAD_AT}>${head}</text>
    ${lines.map(
      (
        { text, full, isMuted },
        index,
      ) => html`<text class=${isMuted ? 'muted' : ''} x="12" y=${FIRST_AT + index * LINE}>
        ${full === text ? null : html`<title>${full}</title>`}${text}
      </text>`,
    )}
  </g>`
}
