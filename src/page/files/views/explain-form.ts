import { html } from 'htm/preact'
import type { ComponentChildren } from 'preact'
import type { ExplainQuery } from '../data/node-api.ts'

const PROTOCOLS = ['tcp', 'udp', 'sctp']

interface Props {
  readonly query: ExplainQuery
  /** The fragment of a query, and of the further fields of the form. */
  readonly hashOf: (query: ExplainQuery, fields: FormData) => string
  /** Explains the same packet anew. */
  readonly again: () => void
  /** What a source may be. */
  readonly sourceHint: string
  /** The source that the form shows at first. */
  readonly firstSource: string
  /** Further fields. */
  readonly children?: ComponentChildren
}

/** The search box: its query becomes the address of the page, so that an answer can be linked to. */
export function ExplainForm(props: Props) {
  const { query, again, hashOf, sourceHint, firstSource, children } = props
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    const fields = new FormData(event.target as HTMLFormElement)
    const hash = hashOf(queryOf(fields), fields)
    if (hash === location.hash) again()
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
