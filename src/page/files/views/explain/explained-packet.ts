import { html } from 'htm/preact'
import type { ExplanationMessage } from '../../data/explanation.ts'
import { formatShare } from '../../text/format.ts'
import { outcomeWords, packetWords } from '../../way/way-words.ts'
import { Desired } from './desired.ts'
import { WayPicture } from './way-picture.ts'
import { WayText } from './way-text.ts'

/** An explanation: whether kernel and node-proxy agree, what each of them says, and the way. */
export function ExplainedPacket({ explanation }: { readonly explanation: ExplanationMessage }) {
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

function Verdict({ explanation: { observed, differences } }: { explanation: ExplanationMessage }) {
  if (differences.length > 0) {
    return html`<p class="verdict bad">The kernel does otherwise than node-proxy wants:</p>`
  }
  const isDelivered = observed.every(({ kind }) => kind === 'delivered')
  return isDelivered
    ? html`<p class="verdict good">The connection comes to be.</p>`
    : html`<p class="verdict warn">The connection does not always come to be.</p>`
}
