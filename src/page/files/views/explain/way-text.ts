import { html } from 'htm/preact'
import type { OutcomeMessage, StepMessage } from '../../data/explanation.ts'
import { counterWords, outcomeSentence, stepWords } from '../../way/way-words.ts'

/** Outcomes whose steps are listed; those of the others differ in the last one or two. */
const LISTED = 8

/** The way as text: what the picture shows, with every rule in full. */
export function WayText({ observed }: { readonly observed: readonly OutcomeMessage[] }) {
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

function Step({ step }: { readonly step: StepMessage }) {
  const count = counterWords(step)
  return html`<b>${step.where}</b> <code>${stepWords(step)}</code>${count === '' ? null : html` <small>${count}</small>`}`
}
